import { element } from "./dom.js";

export function drawVerdict(holder, verdict) {
	const pressures = element("div", { class: "pressures" });
	for (const [name, p] of Object.entries(verdict.pressure)) {
		const now = Math.round(100 * p.now), usual = p.usual === null ? "" : ` (usually ${Math.round(100 * p.usual)} %)`;
		pressures.append(element("span", {}, `waiting for ${name}: ${now} %${usual} `,
			element("meter", { min: 0, max: 1, value: p.now, "aria-label": `waiting for ${name}` })));
	}
	holder.replaceChildren(element("p", { class: `summary ${verdict.slow ? "slow" : "calm"}` }, verdict.summary), pressures);
}
