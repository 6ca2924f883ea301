// The fleet's drawings next to the heat map: each server's range (a stock chart), bands over time, a scatter of two counters.
import { localTime } from "./format.js";
import { arrowKeys, css, replaceContents, svg } from "./dom.js";
import { wheelZoom } from "./gestures.js";
import { sharp } from "./pane.js";
import { tellMoment } from "./series.js";
import uPlot from "./uPlot.esm.js";

const ROW = 18, NEAR = 10; // px

// A row a server, the paper's stock chart: a thin line from the least to the most, a thicker one from the 5 % to the 95 % quantile, a box from
// 25 % to 75 %, the median as a line and the mean as a diamond.
export function drawServers(holder, rows, { chosen, format, onChoose }) {
	const width = Math.max(260, holder.clientWidth || 400), gutter = Math.min(130, width * 0.34), right = width - gutter - 12, height = rows.length * ROW + 22;
	const low = Math.min(...rows.map((r) => r.min)), high = Math.max(...rows.map((r) => r.max)), x = (v) => gutter + (high > low ? (v - low) / (high - low) : 0.5) * right;
	const letters = Math.floor((gutter - 8) / 6.6);
	const root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "range of each server" });
	for (let i = 0; i <= 3; i++) {
		const v = low + i / 3 * (high - low);
		root.append(svg("line", { class: "rule", x1: x(v), x2: x(v), y1: 16, y2: height }), svg("text", { class: "faint", x: x(v), y: 11, "text-anchor": i === 3 ? "end" : i ? "middle" : "start" }, format(v)));
	}
	const stop = Math.max(0, rows.findIndex((r) => r.server === chosen)), stocks = rows.map((r, i) => {
		const y = 20 + i * ROW, words = `${r.server}: median ${format(r.median)}, half of the time ${format(r.q25)} to ${format(r.q75)}, nine tenths ${format(r.q05)} to ${format(r.q95)}, all ${format(r.min)} to ${format(r.max)}, mean ${format(r.mean)}`;
		const stock = svg("g", { role: "button", tabindex: i === stop ? 0 : -1, "data-key": r.server, class: "stock", "aria-pressed": String(r.server === chosen), "aria-label": words, onclick: () => onChoose(r.server), onkeydown: (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); onChoose(r.server); } } },
			svg("title", {}, words), svg("rect", { class: "row", x: 0, y, width, height: ROW }),
			svg("line", { class: "extremes", x1: x(r.min), x2: x(r.max), y1: y + 9, y2: y + 9 }), svg("line", { class: "range", x1: x(r.q05), x2: x(r.q95), y1: y + 9, y2: y + 9 }), svg("rect", { class: "box", x: x(r.q25), y: y + 4, width: Math.max(1, x(r.q75) - x(r.q25)), height: 10 }),
			svg("line", { class: "median", x1: x(r.median), x2: x(r.median), y1: y + 2, y2: y + 16 }),
			svg("path", { class: "mean", d: `M${x(r.mean)} ${y + 5}l4 4l-4 4l-4 -4z` }));
		root.append(stock, svg("text", { class: "stock-name", x: 4, y: y + 13, "aria-hidden": "true" }, r.server.length > letters ? `…${r.server.slice(-letters + 1)}` : r.server));
		return stock;
	});
	arrowKeys(root, () => stocks);
	replaceContents(holder, root);
}

const plots = new Map();

// The bands of a moment's servers, wide to narrow, and the line in them: [label, value of a row].
const QUANTILES = [["5 %", (r) => r.q05], ["95 %", (r) => r.q95], ["25 %", (r) => r.q25], ["75 %", (r) => r.q75], ["median", (r) => r.median]];
const MOMENTS = [["minimum", (r) => r.min], ["maximum", (r) => r.max], ["mean - deviation", (r) => r.mean - r.sd], ["mean + deviation", (r) => r.mean + r.sd], ["mean", (r) => r.mean]];

// Bands of all servers over time: quantiles, or (`moments`) minimum, maximum, mean and deviation; `line` = { name, at(s) -> value or null } of the chosen one. Dragging brushes.
export function drawBands(holder, rows, { line, format, height, onBrush, brushed, moments }) {
	plots.get(holder)?.destroy();
	holder.replaceChildren();
	const x = rows.map((r) => Date.parse(r.time) / 1000), of = moments ? MOMENTS : QUANTILES;
	const axis = { stroke: css("--faint"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line"), width: 1 } };
	const edge = { stroke: "transparent", points: { show: false } };
	const value = (u, v) => (v === null || v === undefined ? "" : format(v));
	const plot = new uPlot({
		width: holder.clientWidth || 600, height, legend: { show: height > 120, live: true },
		cursor: { drag: { x: true, y: false, setScale: false } },
		axes: [{ ...axis, space: 90, values: (u, ticks, i, space, step) => ticks.map((t) => localTime(t * 1000, step >= 86400).slice(0, step >= 86400 ? 10 : step < 60 ? undefined : 5)) }, { ...axis, size: 64, show: height > 120, values: (u, ticks) => ticks.map((v) => format(v)) }],
		series: [{ value: (u, v) => (v === null ? "" : localTime(v * 1000)) }, ...of.slice(0, 4).map(([label]) => ({ label, ...edge, value })),
			{ label: of[4][0], stroke: css("--accent"), width: 1.5, points: { show: false }, value }, ...(line ? [{ label: line.name, stroke: css("--bar"), width: 1.5, points: { show: false }, value }] : [])],
		bands: [{ series: [2, 1], fill: `color-mix(in srgb, ${css("--accent")} 16%, transparent)` }, { series: [4, 3], fill: `color-mix(in srgb, ${css("--accent")} 30%, transparent)` }],
		hooks: {
			...(height > 120 ? { ready: [(u) => tellMoment(u)], setCursor: [(u) => tellMoment(u)] } : {}),
			draw: [(u) => {
				if (!brushed) return;
				const [a, b] = brushed.map((t) => Math.max(u.bbox.left, Math.min(u.bbox.left + u.bbox.width, u.valToPos(t, "x", true))));
				u.ctx.save();
				u.ctx.fillStyle = css("--band");
				u.ctx.fillRect(u.bbox.left, u.bbox.top, a - u.bbox.left, u.bbox.height);
				u.ctx.fillRect(b, u.bbox.top, u.bbox.left + u.bbox.width - b, u.bbox.height);
				u.ctx.strokeStyle = css("--accent");
				u.ctx.strokeRect(a, u.bbox.top, b - a, u.bbox.height);
				u.ctx.restore();
			}],
			setSelect: [(u) => {
				if (u.select.width < 4) return;
				onBrush(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
				u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
			}],
		},
	}, [x, ...of.map(([, get]) => rows.map(get)), ...(line ? [x.map(line.at)] : [])], holder);
	plot.over.addEventListener("dblclick", () => onBrush(null, null));
	if (!brushed) wheelZoom(plot, (from, to) => onBrush(from, to, "wheel"));
	plots.set(holder, plot);
	const canvas = plot.root.querySelector("canvas");
	canvas.setAttribute("role", "img");
	canvas.setAttribute("aria-label", `all servers over time: ${moments ? "minimum, maximum, mean and deviation" : "median and quantiles"}${line ? `, and ${line.name}` : ""}`);
}

// Every (server, moment) as a point; the chosen server's are lit. Returns how many, and find(x, y): the one there, { server, index, a, b }.
export function drawScatter(canvas, a, b, { chosen, formatA, formatB, nameA, nameB }) {
	const width = canvas.parentElement.clientWidth || 400, height = 320, left = 66, bottom = 36, context = sharp(canvas, width, height);
	const points = [];
	const other = new Map(b.servers.map((s) => [s.name, s.values]));
	for (const s of a.servers) s.values.forEach((v, i) => { const w = other.get(s.name)?.[i]; if (v !== null && w !== null && w !== undefined) points.push([v, w, s.name === chosen, s.name, i]); });
	context.clearRect(0, 0, width, height);
	context.font = "11px system-ui";
	if (!points.length) return { n: 0, find: () => null };
	const range = (k) => { let low = Infinity, high = -Infinity; for (const p of points) { low = Math.min(low, p[k]); high = Math.max(high, p[k]); } return high > low ? [low, high] : [low - 1, high + 1]; };
	const [x0, x1] = range(0), [y0, y1] = range(1), x = (v) => left + (v - x0) / (x1 - x0) * (width - left - 10), y = (v) => height - bottom - (v - y0) / (y1 - y0) * (height - bottom - 10);
	context.strokeStyle = css("--line");
	context.fillStyle = css("--faint");
	for (let i = 0; i <= 4; i++) {
		const vx = x0 + i / 4 * (x1 - x0), vy = y0 + i / 4 * (y1 - y0);
		context.beginPath();
		context.moveTo(x(vx), 6);
		context.lineTo(x(vx), height - bottom);
		context.moveTo(left, y(vy));
		context.lineTo(width - 6, y(vy));
		context.stroke();
		context.textAlign = i === 4 ? "right" : i ? "center" : "left";
		context.fillText(formatA(vx), x(vx), height - bottom + 14);
		context.textAlign = "right";
		context.fillText(formatB(vy), left - 5, y(vy) + 4);
	}
	context.textAlign = "left";
	context.fillText(nameB, left + 5, 14);
	context.textAlign = "right";
	context.fillText(nameA, width - 6, height - 6);
	for (const lit of [false, true]) {
		context.fillStyle = lit ? css("--bar") : css("--accent");
		context.globalAlpha = lit ? 0.9 : Math.max(0.08, Math.min(0.6, 600 / points.length));
		for (const [v, w, is] of points) if (is === lit) context.fillRect(x(v) - (lit ? 2 : 1.5), y(w) - (lit ? 2 : 1.5), lit ? 4 : 3, lit ? 4 : 3);
	}
	context.globalAlpha = 1;
	const find = (px, py) => {
		let best = null, off = NEAR;
		for (const p of points) {
			const away = Math.hypot(x(p[0]) - px, y(p[1]) - py);
			if (away < off) [best, off] = [p, away];
		}
		return best && { server: best[3], index: best[4], a: best[0], b: best[1] };
	};
	return { n: points.length, find };
}
