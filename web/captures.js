// What an incident's processes did while it lasted: a column a phase, and in it the inspections, one below the other.
import { ask } from "./api.js";
import { element } from "./dom.js";
import { link } from "./pane.js";

const percent = (x) => `${(100 * x).toFixed(x < 0.1 ? 1 : 0)} %`;

// Where its CPU time went: of every function itself, without what it called.
function functions(c) {
	const whole = c.bottom_up?.total;
	const most = whole ? [...c.bottom_up.children].sort((a, b) => b.total - a.total).slice(0, 5) : [];
	return most.length ? element("ul", { class: "features" }, ...most.map((f) => element("li", {}, `${percent(f.total / whole)} ${f.name}`))) : element("p", { class: "hint" }, "It hardly used the CPU.");
}

function threads(c) {
	const rows = c.threads.slice(0, 6).map((t) => element("tr", { title: t.begins_at ?? null }, element("td", {}, `${t.name} ${t.tid}`), element("td", { class: "number" }, percent(t.cpu)), element("td", { class: "number" }, percent(t.ready)),
		element("td", {}, t.waits?.[0] ? t.waits[0].function : "")));
	return element("table", { "aria-label": `threads of ${c.pid}` }, element("thead", {}, element("tr", {}, ...["thread", "on a CPU", "ready", "waits most in"].map((title, i) => element("th", { scope: "col", class: i === 1 || i === 2 ? "number" : null }, title)))),
		element("tbody", {}, ...rows));
}

const inspection = (c, i, id) => element("section", { "aria-label": c.summary }, element("h4", {}, c.summary), threads(c), functions(c),
	link({ view: "flame", mark: id, kind: `capture${i}`, with: null, from: null, to: null }, "flame graph"));

// Elements for an incident of this number; none where nothing was inspected.
export async function phases(id) {
	let list;
	try {
		list = (await ask("captures", { id })).captures;
	} catch {
		return []; // none were kept
	}
	const columns = [...new Set(list.map((c) => c.phase ?? 1))].sort((a, b) => a - b);
	return list.length ? [element("h3", {}, "What was inspected"), element("div", { class: "phases" }, ...columns.map((phase) => element("div", {},
		columns.length > 1 ? element("h4", {}, `Phase ${phase}`) : "", ...list.map((c, i) => ((c.phase ?? 1) === phase ? inspection(c, i, id) : "")))))] : [];
}
