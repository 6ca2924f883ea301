import { element } from "./dom.js";
import { link, markText } from "./pane.js";

// What an answer says first (whyslow.why/1 or a board's verdict): its sentence, how sure it is, what was waited for, and what can be done.
export function verdictParts(answer) {
	const pressures = element("div", { class: "pressures" });
	for (const [name, p] of Object.entries(answer.pressure)) {
		const now = Math.round(100 * p.now), usual = p.usual === null ? "" : ` (normally ${Math.round(100 * p.usual)} %)`;
		pressures.append(element("span", {}, `waiting for ${name}: ${now} %${usual} `,
			element("meter", { min: 0, low: 0.1, high: 0.4, optimum: 0, max: 1, value: p.now, "aria-label": `waiting for ${name}` })));
	}
	const sure = answer.slow && answer.confidence !== null ? element("p", { class: "hint" }, `Confidence: ${Math.round(100 * answer.confidence)} %.`) : "";
	return [element("p", { class: `summary ${answer.slow ? "slow" : "calm"}` }, answer.summary), sure, pressures, answer.next ? element("p", { class: "next" }, answer.next) : ""];
}

// `mark`: the one whose moment is asked about, or none.
export function drawVerdict(holder, verdict, mark) {
	holder.replaceChildren(...verdictParts(verdict),
		mark ? element("p", { class: "hint" }, link({ view: "incidents", mark: String(mark.id) }, markText(mark))) : "");
}
