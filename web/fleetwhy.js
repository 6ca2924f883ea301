// The answer of a fleet, to click: who led and who followed, the curves of what is named, and threshold rules from it.
import { formatMoment, formatSpan, momentOf } from "./axis.js";
import { element, replaceContents, svg } from "./dom.js";
import { localTime } from "./format.js";

const HEIGHT = 130, FOOT = 16, LEAST = 260; // px
const OTHERS = 12; // servers next to the one named, as in the HTML page
export const CURVE_POINTS = 360;

// The server that has the counter: of calls to a server another one may measure them.
export const columnOf = (f) => f.measured_on ?? f.server;
export const keyOf = (f) => `${columnOf(f) ?? ""}|${f.counter ?? ""}`;
export const unKey = (key) => { const at = key.indexOf("|"); return { server: key.slice(0, at) || null, counter: key.slice(at + 1) }; };

// The chain in the order in which it began; the symptom alone where there is none.
export function linksOf(why) {
	if (why.chain?.length) return why.chain;
	const symptom = why.unusual?.findings.find((f) => f.server === why.server && f.counter === why.symptom);
	return symptom && !why.nothing_unusual ? [symptom] : [];
}

// Twice the window before it and half of it after, within the data; null: the answer has no window.
export function aroundWindow(why, info) {
	if (!why.window) return null;
	const from = momentOf(why.judged_from), to = momentOf(why.window.end), length = to - from, first = momentOf(info.start), last = momentOf(info.end);
	return { from: from - 2n * length > first ? from - 2n * length : first, to: to + length / 2n < last ? to + length / 2n : last };
}

const asOption = (ns) => `@${formatMoment(ns)}`;
export const windowOption = (span) => (span ? { from: asOption(span.from), to: asOption(span.to) } : {});

// What the window is compared with: the time before it, or after it where it begins with the data.
export function baselineOf(why, info) {
	if (!why.window) return null;
	const first = momentOf(info.start), last = momentOf(info.end), from = momentOf(why.judged_from), to = momentOf(why.window.end);
	return from > first ? { from: first, to: from } : to < last ? { from: to, to: last } : null;
}

export const spanText = (ns) => (ns >= 120e9 ? `${Math.round(ns / 60e9)} min` : formatSpan(ns));

const later = (f, first) => {
	const ns = Number(momentOf(f.since) - momentOf(first.since));
	return ns > 0 ? `, ${spanText(ns)} later` : "";
};

// What a link is in the chain.
function part(why, f, first) {
	const is = (x) => x && x.server === f.server && x.counter === f.counter;
	const role = is(why.culprit) ? "the likely cause" : is({ server: why.server, counter: why.symptom }) ? "the symptom" : f === first ? "" : "followed";
	return `${role}${f !== first && f.since && first.since ? later(f, first) : ""}`;
}

const callsOf = (why, f) => (why.calls ?? []).filter((c) => c.caller === f.server && linksOf(why).some((x) => x.server === c.callee)).map((c) => c.callee);

// onChoose(finding), onRule(finding); `chosen`: a key.
export function drawChain(holder, why, { formatOf, chosen, onChoose, onRule }) {
	const links = linksOf(why);
	const item = (f) => {
		const format = formatOf(f.counter), role = part(why, f, links[0]), called = callsOf(why, f), name = `${f.counter} of ${columnOf(f)}`;
		return element("li", {}, element("button", { type: "button", class: "named", "data-key": `chain ${keyOf(f)}`, "aria-pressed": String(keyOf(f) === chosen), onclick: () => onChoose(f) }, name),
			` ${f.since ? localTime(f.since) : ""}: ${format(f.observed)}${f.usual === null ? "" : `, normally ${format(f.usual)}`}${role ? ` (${role})` : ""}${called.length ? `; calls ${called.join(", ")}` : ""} `,
			element("button", { type: "button", "data-key": `rule ${keyOf(f)}`, "aria-label": `rule for ${name}`, onclick: () => onRule(f) }, "Rule"));
	};
	replaceContents(holder, ...(links.length ? [element("h3", {}, why.chain_together ? "They began together; which came first is not known" : "In the order of events"), element("ol", { class: "chain" }, ...links.map(item))] : []));
}

// A path through the values; where a point stands for several moments, through the least and the most of them.
function pathOf(server, x, y) {
	let path = "", pen = "M";
	server.values.forEach((v, i) => {
		if (v === null) { pen = "M"; return; }
		for (const value of server.low && server.low[i] !== server.high[i] ? [server.low[i], server.high[i]] : [v]) {
			path += `${pen}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
			pen = "L";
		}
	});
	return path;
}

function curve(width, f, view, { why, around, formatOf, chosen, onChoose }) {
	const format = formatOf(f.counter), name = `${f.counter} of ${columnOf(f)}`, one = view.servers.find((s) => s.name === columnOf(f));
	const others = view.servers.filter((s) => s !== one && s.values.some((v) => v !== null)).slice(0, OTHERS);
	let low = Infinity, high = -Infinity;
	for (const s of one ? [...others, one] : others) for (const list of [s.low ?? s.values, s.high ?? s.values]) for (const v of list) if (v !== null) { low = Math.min(low, v); high = Math.max(high, v); }
	if (!(low <= high)) return null;
	const length = Number(around.to - around.from), at = (ns) => Number(ns - around.from) / length * width;
	const x = (i) => at(view.origin) + i * view.step / length * width, y = (v) => 6 + (HEIGHT - FOOT - 12) * (high > low ? (high - v) / (high - low) : 0.5);
	const begin = Math.max(0, at(momentOf(why.judged_from))), end = Math.min(width, at(momentOf(why.window.end)));
	const line = (s, kind) => svg("path", { class: kind, d: pathOf(s, x, y), onclick: () => onChoose({ server: s.name, counter: f.counter }) }, svg("title", {}, s.name));
	const time = (ns) => localTime(Number(ns / 1000000n), length > 86400e9);
	return element("figure", { class: "curve" },
		element("figcaption", {}, element("button", { type: "button", class: "named", "data-key": `curve ${keyOf(f)}`, "aria-pressed": String(keyOf(f) === chosen), onclick: () => onChoose(f) }, name), ` ${format(low)} to ${format(high)}`),
		svg("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": `${name}, next to ${others.length} other servers; the incident is shaded` },
			svg("rect", { class: "incident", x: begin, y: 0, width: Math.max(1, end - begin), height: HEIGHT - FOOT }), ...others.map((s) => line(s, "other")), one ? line(one, "one") : null,
			svg("text", { class: "faint", x: 2, y: HEIGHT - 3 }, time(around.from)), svg("text", { class: "faint", x: width - 2, y: HEIGHT - 3, "text-anchor": "end" }, time(around.to))));
}

// The curves of the chain; `views`: by counter, as fleet.js takes them.
export function drawCurves(holder, why, views, options) {
	const columns = holder.clientWidth > 800 ? 2 : 1, width = Math.max(LEAST, Math.floor((holder.clientWidth || 400) / columns) - 12);
	const figures = linksOf(why).map((f) => views.has(f.counter) && curve(width, f, views.get(f.counter), { why, ...options })).filter(Boolean);
	replaceContents(holder, ...figures, ...(figures.length ? [element("p", { class: "hint" }, "In color the server that is named, in gray the others; the incident is shaded. Click a line to choose its server.")] : []));
}

// --- rules ---

export const SIDES = [["above", "above"], ["below", "below"]];
export const LEVELS = [["0", "the baseline's p95 (below: p5)"], ["0.2", "20 % beyond it"], ["0.5", "50 % beyond it"], ["1", "twice as far"]];
export const LASTING = [["0", "a moment"], ["2", "2 rows"], ["5", "5 rows"], ["15", "15 rows"]]; // in rows: how long they are, the data say

// A counter's name is a pattern in rules.
const quoted = (name) => `"${name.replace(/[\\*?[\]]/g, "\\$&").replace(/[\\"]/g, "\\$&")}"`;
const digits = (v) => { // without an exponent
	const text = String(Number(v.toPrecision(4)));
	return text.includes("e") ? Number(text).toFixed(20).replace(/\.?0+$/, "") : text;
};

// The limit of the counter's values in the baseline, of a server or (null) of all. null: there is none.
export function limitOf(rows, server, side) {
	const of = rows.filter((r) => (server ? r.server === server : true) && r.q95 !== null).map((r) => (side === "below" ? r.q05 : r.q95));
	return of.length ? (side === "below" ? Math.min(...of) : Math.max(...of)) : null;
}

// "when any "queue" in detail view > 3.9 for 300 s report"
export function ruleText(counter, limit, { side, beyond, rows, interval }) {
	const value = limit + (side === "below" ? -1 : 1) * Math.abs(limit) * beyond;
	return `when any ${quoted(counter)} in detail view ${side === "below" ? "<" : ">"} ${digits(value)} ${rows ? `for ${digits(rows * interval / 1e9)} s ` : ""}report`;
}
