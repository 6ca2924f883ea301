// Unusual times, also those without a mark: a band of the last days, the more color the more unusual, and its most unusual times as
// links to the machine's view.
import { ask } from "./api.js";
import { element, svg } from "./dom.js";
import { formatValue, localTime } from "./format.js";
import { link } from "./pane.js";

const POINTS = 672, HEIGHT = 22, INCIDENT = 7, ODD = 6, MOST = 40; // 15 minutes each of a week; scores from here on have full color

const part = (score, i) => score === null ? svg("rect", { class: "none", x: i, width: 1, height: HEIGHT }) : score < ODD ? null :
	svg("rect", { class: "odd-part", x: i, width: 1, height: HEIGHT, opacity: (0.3 + 0.7 * Math.min(1, score / MOST)).toFixed(2) });

// Incidents stand on the band as far as they reach.
function incidentPart(x, answer) {
	const at = (t) => Math.max(0, Math.min(answer.scores.length, (Date.parse(t) - Date.parse(answer.from)) / 1000 / answer.step)), from = Math.min(at(x.from), answer.scores.length - 1);
	return svg("rect", { class: "incident-part", x: from, width: Math.max(1, at(x.to) - from), y: HEIGHT - INCIDENT, height: INCIDENT }, svg("title", {}, `${x.source === "rule" ? "incident" : "mark"} ${x.id}${x.note ? `: ${x.note}` : ""}`));
}

function band(answer) {
	const words = `${answer.unusual} of ${answer.minutes} recorded minutes were unusual; ${answer.incidents.length} incidents`;
	return svg("svg", { class: "history-band", viewBox: `0 0 ${answer.scores.length} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": words },
		svg("title", {}, words), ...answer.scores.map(part), ...answer.incidents.map((x) => incidentPart(x, answer)));
}

const said = (x) => !x ? null : `${x.program ? `${x.program}: ` : ""}${x.feature} ${formatValue(x.value, x.unit)} (normally ${formatValue(x.normal, x.unit)})`;

function episode(e) {
	const at = `@${Date.parse(e.peak) / 1000}`, words = [e.machine, e.program].filter((x) => x && x.anomaly >= ODD).map(said).join("; ");
	return element("li", {}, link({ view: "machine", at, mark: null, with: null, pid: null, feature: null, from: null, to: null }, localTime(e.from)), `, ${e.minutes} min: ${words}`);
}

export async function drawHistory(holder) {
	let answer;
	try {
		answer = await ask("history", { since: "-7d", points: POINTS, top: 5 });
	} catch {
		holder.replaceChildren(element("p", { class: "hint" }, "Unusual times are unknown: too little is recorded."));
		return;
	}
	holder.replaceChildren(element("h3", {}, "Unusual times of the last days"), band(answer),
		element("p", { class: "ends" }, element("span", {}, localTime(answer.from)), element("span", {}, localTime(answer.to))),
		answer.episodes.length ? element("ol", {}, ...answer.episodes.map(episode)) : element("p", { class: "hint" }, answer.incidents.length ? "No minute stands out from the others; the incidents are below on the band." : "Nothing was unusual."));
}
