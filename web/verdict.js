import { element } from "./dom.js";
import { link, markText } from "./pane.js";

// `mark`: the one whose moment is asked about, or none.
export function drawVerdict(holder, verdict, mark) {
	const pressures = element("div", { class: "pressures" });
	for (const [name, p] of Object.entries(verdict.pressure)) {
		const now = Math.round(100 * p.now), usual = p.usual === null ? "" : ` (usually ${Math.round(100 * p.usual)} %)`;
		pressures.append(element("span", {}, `waiting for ${name}: ${now} %${usual} `,
			element("meter", { min: 0, low: 0.1, high: 0.4, optimum: 0, max: 1, value: p.now, "aria-label": `waiting for ${name}` })));
	}
	holder.replaceChildren(element("p", { class: `summary ${verdict.slow ? "slow" : "calm"}` }, verdict.summary), pressures,
		mark ? element("p", { class: "hint" }, link({ view: "incidents", mark: String(mark.id) }, markText(mark))) : "");
}
