// One request, span by span: a row each, the critical path lit (whyslow.spans.exemplars/1).
import { formatSpan } from "./axis.js";
import { svg } from "./dom.js";

const ROW = 20, TOP = 20, INDENT = 10;

// Round times of the request for the ruler.
function ticks(most, n) {
	const raw = most / n, decade = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].map((k) => k * decade).find((k) => k >= raw);
	const out = [];
	for (let t = 0; t <= most; t += step) out.push(t);
	return out;
}

// `most`: ns at the right edge, so that two requests next to each other have one scale.
export function drawWaterfall(holder, request, most) {
	const width = Math.max(280, holder.clientWidth || 600), height = TOP + ROW * request.spans.length + 4;
	const gutter = Math.min(300, width * 0.42), room = width - gutter - 54, x = (ns) => gutter + ns / most * room;
	const root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "list", "aria-label": `request ${request.trace}, ${formatSpan(request.duration_ns)}` });
	for (const t of ticks(most, room / 90)) root.append(svg("line", { class: "rule", x1: x(t), x2: x(t), y1: 0, y2: height }), svg("text", { class: "faint", x: x(t) + 3, y: 12 }, t ? formatSpan(t) : "0"));
	request.spans.forEach((s, i) => {
		const y = TOP + i * ROW, indent = Math.min(s.depth, 12) * INDENT, letters = Math.max(4, Math.floor((gutter - indent - 8) / 6.6));
		const words = `${s.text}: ${formatSpan(s.duration_ns)} from ${formatSpan(s.start_ns)} on${s.path_ns ? `, ${formatSpan(s.path_ns)} of it on the critical path` : ""}${s.error ? ", failed" : ""}${s.host ? `, on ${s.host}` : ""}${s.link ? `, refers to trace ${s.link}${s.links > 1 ? ` and ${s.links - 1} others` : ""}` : ""}`;
		root.append(svg("g", { role: "listitem", class: `span ${s.path_ns ? "critical" : ""} ${s.error ? "failed" : ""}` }, svg("title", {}, words),
			svg("rect", { class: "row", x: 0, y, width, height: ROW }),
			svg("text", { x: 2 + indent, y: y + 14 }, s.text.length > letters ? `${s.text.slice(0, letters - 1)}…` : s.text),
			svg("rect", { class: s.kind === "edge" ? "bar edge" : "bar", x: x(s.start_ns), y: y + 4, width: Math.max(1.5, x(s.duration_ns) - gutter), height: ROW - 8, rx: 2 }),
			svg("text", { class: "faint", x: Math.min(x(s.start_ns + s.duration_ns) + 4, width - 52), y: y + 14 }, `${formatSpan(s.duration_ns)}${s.error ? " ✗" : ""}${s.link ? " ↗" : ""}`)));
	});
	holder.replaceChildren(root);
}
