import { choosableTable, element, replaceTable } from "./dom.js";
import { formatValue, localTime } from "./format.js";

export function drawIncidents(holder, marks, { chosen, onChoose }) {
	const rows = [...marks].reverse().map((m) => ({ key: String(m.id), cells: [String(m.id), localTime(m.at), m.note || "", m.presses > 1 ? `${m.presses} times` : "", m.feedback || ""] }));
	if (!rows.length) {
		holder.replaceChildren(element("p", {}, "Nothing is marked yet: press “It is slow now” when it is."));
		return;
	}
	const columns = [{ title: "mark", class: "number" }, { title: "when" }, { title: "note", class: "name" }, { title: "pressed" }, { title: "verdict was" }];
	replaceTable(holder, choosableTable({ label: "marked moments", columns, rows, chosen, onChoose }));
}

const featureLine = (f) => element("li", {}, `${f.name}: ${formatValue(f.value, f.unit)}`,
	f.usual === null ? "" : `, usually ${formatValue(f.usual, f.unit)}`, f.left_only_value ? " (left its only value)" : f.highest ? " (highest in the window)" : "");

export function drawAnswer(holder, answer, onProcess) {
	const culprits = answer.culprits.slice(0, 5).map((c) => element("li", {},
		element("button", { type: "button", class: "who", onclick: () => onProcess(answer.at, c) }, c.members > 1 ? `${c.label}, ${c.members} processes` : `${c.label}, pid ${c.pid}`),
		c.share === null ? "" : ` ${Math.round(100 * c.share)} % of what all used`,
		element("ul", { class: "features" }, ...c.features.slice(0, 4).map(featureLine))));
	const victims = answer.victims.slice(0, 5).map((v) => element("li", {}, `${v.label}, pid ${v.pid}`, element("ul", { class: "features" }, ...v.features.slice(0, 2).map(featureLine))));
	holder.replaceChildren(element("div", { class: "answer" },
		element("p", { class: `summary ${answer.slow ? "slow" : "calm"}` }, answer.summary),
		...answer.remarks.map((r) => element("p", { class: "hint" }, r)),
		element("h3", {}, "Accused"), culprits.length ? element("ol", {}, ...culprits) : element("p", {}, "nobody"),
		victims.length ? element("h3", {}, "Who waited") : "", victims.length ? element("ul", {}, ...victims) : ""));
}
