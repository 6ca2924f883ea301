// The visible-timeline profile: what all threads did in the interval that is seen, and what the chosen one did. The table is
// the drawing's legend as well.
import { formatSpan } from "./axis.js";
import { element, svg } from "./dom.js";
import { CLASSES, USES } from "./lines.js";

const swatch = ({ key, height }) => svg("svg", { class: "swatch", viewBox: "0 0 10 10", "aria-hidden": "true" },
	svg("rect", { class: "ground", width: 10, height: 10 }), svg("rect", { class: `fill-${key}`, y: 10 * (1 - height), width: 10, height: 10 * height }));

function bar(shares, label) {
	let x = 0;
	const parts = shares.map(([key, share]) => {
		const part = svg("rect", { class: `fill-${key}`, x: 1000 * x, width: 1000 * share, height: 10 });
		x += share;
		return part;
	});
	return svg("svg", { viewBox: "0 0 1000 10", preserveAspectRatio: "none", role: "img", "aria-label": label }, ...parts);
}

function byClass(sums, kinds, classOf) {
	const all = {};
	for (const kind of kinds) {
		const ns = sums?.[kind.name ?? kind] ?? 0;
		all[classOf(kind)] = (all[classOf(kind)] ?? 0) + ns;
	}
	return all;
}

const total = (sums) => Object.values(sums).reduce((a, b) => a + b, 0);
const percent = (part, whole) => (whole ? `${(100 * part / whole).toFixed(part / whole < 0.1 ? 1 : 0)} %` : "");

export function drawProfile(holder, answer, { tid, classOfState, classOfUse }) {
	const all = byClass(answer.sums, answer.states, classOfState), whole = answer.window.ns;
	const line = answer.rows.lines.find((l) => String(l.tid) === tid);
	const one = line ? byClass(line.sums, answer.states, classOfState) : null;
	const cpus = byClass(answer.cpus.reduce((sums, c) => {
		for (const [key, ns] of Object.entries(c.sums)) sums[key] = (sums[key] ?? 0) + ns;
		return sums;
	}, {}), answer.uses, classOfUse);
	const shares = (sums) => Object.entries(sums).map(([key, ns]) => [key, total(sums) ? ns / total(sums) : 0]);
	const ordered = (classes, sums) => shares(Object.fromEntries(classes.map((c) => [c.key, sums[c.key] ?? 0])));
	const cells = (c) => [element("td", {}, swatch(c), c.text), element("td", { class: "number" }, (( all[c.key] ?? 0) / whole).toFixed(2)),
		line ? element("td", { class: "number" }, percent(one[c.key] ?? 0, total(one))) : null];
	holder.replaceChildren(
		element("p", { class: "hint" }, `${formatSpan(whole)}: how many threads at a time${line ? `, and ${line.name} ${line.tid}` : ""}`),
		element("div", { class: "states" }, bar(ordered(CLASSES.filter((c) => !["resting", "unknown"].includes(c.key)), all), "what the threads did that were not asleep"),
			line ? bar(ordered(CLASSES, one), `what ${line.name} did`) : null),
		element("table", { class: "profile" }, element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "state"), element("th", { scope: "col", class: "number" }, "threads"),
			line ? element("th", { scope: "col", class: "number" }, line.name) : null)),
		element("tbody", {}, ...CLASSES.map((c) => element("tr", { class: all[c.key] ? null : "none" }, ...cells(c))))),
		element("table", { class: "profile" }, element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "CPUs"), element("th", { scope: "col", class: "number" }, "CPUs"), element("th", { scope: "col", class: "number" }, "share"))),
			element("tbody", {}, ...USES.map((c) => element("tr", { class: cpus[c.key] ? null : "none" }, element("td", {}, swatch(c), c.text),
				element("td", { class: "number" }, ((cpus[c.key] ?? 0) / whole).toFixed(2)), element("td", { class: "number" }, percent(cpus[c.key] ?? 0, total(cpus))))))));
}
