import { choosableTable, element, oddBar, replaceContents } from "./dom.js";
import { formatValue } from "./format.js";

export function drawFeatures(holder, answer, { chosen, onChoose, onAdd }) {
	const rows = answer.features.map((f) => ({
		key: f.name,
		titles: [null, f.help],
		cells: [oddBar(f.score), f.name, formatValue(f.value, f.unit), f.usual === null ? "no past" : formatValue(f.usual, f.unit),
			f.spread === null ? "" : `± ${formatValue(f.spread, f.unit)}`, f.deviation === null ? "" : f.deviation.toFixed(1),
			element("button", { type: "button", tabindex: -1, "aria-label": `lay ${f.name} over the curve`, title: "lay over the curve (+)",
				onclick: (e) => { e.stopPropagation(); onAdd(f.name); } }, "+")],
	}));
	const columns = [{ title: "odd" }, { title: "feature", class: "name" }, { title: "now", class: "number" }, { title: "usual", class: "number" },
		{ title: "spread", class: "number wide" }, { title: "× spread", class: "number widest" }, { title: "" }];
	replaceContents(holder, choosableTable({ label: "features; + lays one over the curve", columns, rows, chosen, onChoose, press: { "+": onAdd } }));
}
