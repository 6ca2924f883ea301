import { addButton, choosableTable, oddBar, replaceContents, svg } from "./dom.js";
import { formatValue } from "./format.js";

// The value (red) against center and spread (gray).
function againstUsual(f) {
	if (f.usual === null || f.value === null) return "";
	const low = Math.min(f.value, f.usual - 2 * f.spread), high = Math.max(f.value, f.usual + 2 * f.spread), x = (v) => 100 * (v - low) / (high - low || 1);
	return svg("svg", { class: "against", viewBox: "-2 0 104 10", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { class: "line", x: -2, y: 4.5, width: 104, height: 1 }),
		svg("rect", { class: "spread", x: x(f.usual - f.spread), y: 1.5, width: Math.max(1, x(f.usual + f.spread) - x(f.usual - f.spread)), height: 7 }), svg("rect", { class: "value", x: x(f.value) - 2, width: 4, height: 10 }));
}

export function drawFeatures(holder, answer, { chosen, onChoose, onAdd }) {
	const rows = answer.features.map((f) => ({
		key: f.name,
		titles: [null, f.help],
		cells: [oddBar(f.score, f.log_likelihood), f.name, formatValue(f.value, f.unit), f.usual === null ? "no past" : f.new ? "not running" : formatValue(f.usual, f.unit),
			f.spread === null || f.new ? "" : `± ${formatValue(f.spread, f.unit)}`, f.new ? "" : againstUsual(f), f.deviation === null ? "" : f.deviation.toFixed(1),
			addButton(`overlay ${f.name}`, () => onAdd(f.name))],
	}));
	const columns = [{ title: answer.features.some((f) => f.log_likelihood !== null) ? "log-likelihood" : "anomaly" }, { title: "feature", class: "name" }, { title: "now", class: "number" }, { title: "normal", class: "number" },
		{ title: "spread", class: "number wide" }, { title: "", class: "wide" }, { title: "× spread", class: "number widest" }, { title: "", class: "kept" }];
	replaceContents(holder, choosableTable({ label: "features; + overlays one on the curve", columns, rows, chosen, onChoose, press: { "+": onAdd } }));
}
