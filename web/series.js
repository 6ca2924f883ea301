// Curves over one time axis: the asked-about moment and its value in crosshairs, the normal range as a band, marks.
import uPlot from "./uPlot.esm.js";
import { css as named, element } from "./dom.js";
import { wheelZoom } from "./gestures.js";
import { formatValue, localTime } from "./format.js";
import { formatSpan } from "./axis.js";

const COLOURS = ["--accent", "#b06000", "#1a7f37", "#9334e6"];
const HEIGHT = 280, ABOVE = 18; // px: of all, and of what stands above the curve
const CLICK = 4, TWICE = 300; // px, ms
const LATE = 3; // points
const css = (name) => (name.startsWith("--") ? named(name) : name);

// Where a point stands for several ticks, the first curve has the least and the most of each as a band.
const EDGES = [["least", "low"], ["most", "high"]];
const isCoarse = (data) => data.low.some((v, i) => v !== null && v !== data.high[i]);

// What a point is, in words; nothing where the least is the most everywhere.
export function resolutionText(data) {
	return isCoarse(data) ? `Each point stands for ${formatSpan(data.step_ns)}: the line is the mean, the band reaches from the least to the most. Zoom in for every second.` : "";
}

// What the curve shows, for those who do not see it.
function inWords({ data }) {
	const values = (list) => list.filter((v) => v !== null);
	const low = values(data.low), high = values(data.high), mean = values(data.mean);
	if (!mean.length) return `${data.label} ${data.feature}: nothing was measured then`;
	const begin = Date.parse(data.from), show = (v) => formatValue(v, data.unit);
	const peak = data.high.indexOf(Math.max(...high));
	return `${data.label} ${data.feature} from ${localTime(begin)} to ${localTime(begin + data.step_ns * data.mean.length / 1e6)}: ${show(Math.min(...low))} to ${show(Math.max(...high))}, on average ${show(mean.reduce((a, b) => a + b, 0) / mean.length)}, most at ${localTime(begin + (peak + 0.5) * data.step_ns / 1e6)}`;
}

// Every curve on the first one's points: the interface gives all the same number of parts.
function align(curves) {
	const first = curves[0].data;
	const begin = Date.parse(first.from) / 1000, step = first.step_ns / 1e9;
	const x = first.mean.map((_, i) => begin + (i + 0.5) * step);
	return [x, ...curves.map(({ data }) => {
		const from = Date.parse(data.from) / 1000, width = data.step_ns / 1e9;
		return x.map((t) => data.mean[Math.floor((t - from) / width)] ?? null);
	}), ...(isCoarse(first) ? EDGES.map(([, edge]) => first[edge]) : [])];
}

function drawBand(u, usual) {
	if (!usual || usual.usual === null) return;
	const top = u.valToPos(usual.usual + usual.spread, u.series[1].scale, true), bottom = u.valToPos(Math.max(0, usual.usual - usual.spread), u.series[1].scale, true);
	u.ctx.save();
	u.ctx.beginPath();
	u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
	u.ctx.clip();
	u.ctx.fillStyle = css("--band");
	u.ctx.fillRect(u.bbox.left, top, u.bbox.width, Math.max(1, bottom - top));
	u.ctx.restore();
}

function line(u, from, to, colour, dashes) {
	u.ctx.save();
	u.ctx.strokeStyle = css(colour);
	u.ctx.lineWidth = devicePixelRatio;
	u.ctx.setLineDash(dashes);
	u.ctx.beginPath();
	u.ctx.moveTo(...from);
	u.ctx.lineTo(...to);
	u.ctx.stroke();
	u.ctx.restore();
}

// `taken`: intervals of the axis where words stand already: those of another moment there are left out.
function vertical(u, at, colour, dashes, label, taken) {
	const slack = (u.scales.x.max - u.scales.x.min) / 100; // the newest point lies half a step before the end
	if (at < u.scales.x.min - slack || at > u.scales.x.max + slack) return;
	const x = u.valToPos(Math.min(u.scales.x.max, Math.max(u.scales.x.min, at)), "x", true);
	line(u, [x, u.bbox.top], [x, u.bbox.top + u.bbox.height], colour, dashes);
	u.ctx.save();
	u.ctx.fillStyle = css(colour);
	u.ctx.font = `${11 * devicePixelRatio}px system-ui`;
	u.ctx.textAlign = "left";
	const width = u.ctx.measureText(label).width, space = 4 * devicePixelRatio;
	const left = x > u.bbox.left + u.bbox.width * 0.8 ? x - space - width : x + space;
	if (!taken.some(([from, to]) => left < to + space && left + width > from - space)) {
		u.ctx.fillText(label, left, u.bbox.top - space); // above the curve, which may have its peak there
		taken.push([left, left + width]);
	}
	u.ctx.restore();
}

function horizontal(u, value, scale) {
	if (value === null || value === undefined) return;
	const y = u.valToPos(value, scale, true);
	if (y >= u.bbox.top && y <= u.bbox.top + u.bbox.height) line(u, [u.bbox.left, y], [u.bbox.left + u.bbox.width, y], "--bad", [4, 4]);
}

// The values, and the normal range with them: how far they lie from it is what is looked for.
function rangeOf(low, high, usual) {
	if (usual && usual.usual !== null) {
		low = Math.min(low ?? Infinity, Math.max(0, usual.usual - usual.spread));
		high = Math.max(high ?? -Infinity, usual.usual + usual.spread);
	}
	return [low > 0.8 * high ? low : Math.min(0, low), high > 0 ? high * 1.05 : 1];
}

let plot = null, drawn = null;

// Until something points at a place, the figures below a curve (uPlot) are of the moment that is asked about, in s; none: of the last one.
export function tellMoment(u, at = u.data[0].at(-1)) {
	if (u.cursor.left >= 0) return;
	const x = u.data[0], last = x.length - 1, step = x[1] - x[0] || 1;
	let idx = Math.max(0, Math.min(last, Math.round((at - x[0]) / step)));
	for (let k = 0; k < LATE && idx > 0 && u.data[1][idx] === null; k++) idx--; // the newest points may have no tick yet
	u.setLegend({ idx: last >= 0 && Math.abs(x[idx] - at) <= (LATE + 1) * step ? idx : null }, false);
}

// A click asks about a moment; a second one at once is a double click, which shows the whole window.
function listenToClicks(u, onMoment) {
	let from = 0, timer = null;
	u.over.addEventListener("mousedown", (e) => { from = e.clientX; });
	u.over.addEventListener("click", (e) => {
		clearTimeout(timer);
		if (Math.abs(e.clientX - from) < CLICK && e.detail === 1) timer = setTimeout(onMoment, TWICE, u.posToVal(e.offsetX, "x"));
	});
}

// onZoom(from, to): an interval was dragged over (null, null: all of it again); onWheel(from, to): zoomed by the wheel; onMoment(s): a moment
// was clicked.
// onPlaced: is called with where the curve lies, { left, width } in px, { from, to } in s; again when it was drawn again for another width.
// curves: [{ data: whyslow.series/1, color: which one, normal: a feature of whyslow.process/1 or null }]; at: seconds; marks: [{ at, note }].
export function drawSeries(holder, curves, { at, marks, onZoom, onWheel, onMoment, onPlaced }) {
	drawn = [holder, curves, { at, marks, onZoom, onWheel, onMoment, onPlaced }];
	plot?.destroy();
	plot = null;
	if (!curves.length) {
		holder.replaceChildren();
		return;
	}
	const units = [...new Set(curves.map((c) => c.data.unit))];
	const axis = { stroke: css("--faint"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line"), width: 1 } };
	const options = {
		width: holder.clientWidth || 600, height: HEIGHT,
		legend: { live: true }, padding: [ABOVE, null, null, null],
		cursor: { drag: { x: true, y: false, setScale: false }, focus: { prox: 20 } },
		scales: Object.fromEntries(units.map((unit) => [unit, { range: (u, low, high) => rangeOf(low, high, unit === curves[0].data.unit ? curves[0].usual : null) }])),
		axes: [{ ...axis, space: 90, values: (u, ticks, i, space, step) => ticks.map((t) => localTime(t * 1000, step >= 86400).slice(0, step < 60 ? undefined : step >= 86400 ? 10 : 5)) }, ...units.slice(0, 2).map((unit, i) => ({ ...axis, scale: unit, side: i ? 1 : 3, size: 80, grid: i ? { show: false } : axis.grid,
			values: (u, ticks, i, space, step) => ticks.map((v) => formatValue(v, unit, step)) }))],
		series: [{ value: (u, v) => (v === null ? "" : localTime(v * 1000)) }, ...curves.map((c) => ({
			label: `${c.data.label}: ${c.data.feature}`, scale: c.data.unit, stroke: css(COLOURS[c.colour % COLOURS.length]), width: 1.5, spanGaps: false, ...(c.data.mean.filter((v) => v !== null).length < 3 ? { points: { show: true } } : {}), // no line is seen of so few
			value: (u, v) => (v === null ? "" : formatValue(v, c.data.unit)) })),
		...(isCoarse(curves[0].data) ? EDGES.map(([label]) => ({ label, scale: curves[0].data.unit, stroke: "transparent", points: { show: false }, spanGaps: false,
			value: (u, v) => (v === null ? "" : formatValue(v, curves[0].data.unit)) })) : [])],
		bands: isCoarse(curves[0].data) ? [{ series: [curves.length + 2, curves.length + 1], fill: `color-mix(in srgb, ${css(COLOURS[0])} 25%, transparent)` }] : [],
		hooks: {
			drawClear: [(u) => drawBand(u, curves[0].usual)],
			draw: [(u) => {
				const taken = [];
				horizontal(u, curves[0].usual?.value, curves[0].data.unit);
				vertical(u, at, "--bad", [4, 4], localTime(at * 1000, false), taken);
				for (const m of [...marks].reverse()) vertical(u, Date.parse(m.at) / 1000, "--faint", [2, 3], m.note || `mark ${m.id}`, taken);
			}],
			setCursor: [(u) => tellMoment(u, at)],
			setSelect: [(u) => {
				if (u.select.width < 4) return;
				onZoom(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
				u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
			}],
		},
	};
	holder.replaceChildren();
	options.hooks.ready = [(u) => tellMoment(u, at), (u) => onPlaced({ left: u.over.offsetLeft, width: u.over.clientWidth, from: u.scales.x.min, to: u.scales.x.max })];
	plot = new uPlot(options, align(curves), holder);
	plot.over.addEventListener("dblclick", () => onZoom(null, null));
	listenToClicks(plot, onMoment);
	wheelZoom(plot, onWheel);
	plot.root.querySelector("canvas").setAttribute("aria-label", curves.map(inWords).join("; "));
	plot.root.querySelector("canvas").setAttribute("role", "img");
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plot && drawSeries(...drawn));
addEventListener("resize", () => plot?.root.parentElement.clientWidth && drawSeries(...drawn));

// All that were asked for; those without `data` have no values then. onRemove(i): of those that are laid over.
export function drawCurveNames(holder, curves, onRemove) {
	holder.replaceChildren(...curves.map((c, i) => element("span", { class: `curve curve-${c.colour % COLOURS.length}`, title: c.data?.help }, c.data ? `${c.data.label} (${c.data.pid}): ${c.what}` : `${c.who}: ${c.what} (nothing then)`,
		i ? element("button", { type: "button", "aria-label": `take ${c.what} of ${c.who} away`, onclick: () => onRemove(i - 1) }, "×") : null)));
}
