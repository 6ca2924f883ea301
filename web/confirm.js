// Is the accused really the cause? It is held back in turns, and those who wait are watched (whyslow.confirm/1).
import { tell } from "./api.js";
import { css, element } from "./dom.js";
import { formatValue } from "./format.js";

const HEIGHT = 200;
const VERDICTS = { yes: "Yes: it is the cause", no: "No: it is not the cause", unclear: "It cannot be told" };
const waited = (x) => `${x.toFixed(1)} s`; // all threads' together, each second

function sentence(c) {
	const what = `while ${c.name} (${c.pid}) was held back, others waited ${waited(c.waits_held)} each second, all together; while it was let go, ${waited(c.waits_free)}`;
	return `${VERDICTS[c.verdict]}: ${c.verdict === "unclear" && c.reason ? `${c.reason}; ` : ""}${what} (p = ${c.p.toPrecision(2)}). ${c.bound ? "" : "It used no less while it was held back. "}`;
}

// Before, during, after: how much was waited, the phases in which it was held shaded.
async function drawChart(holder, c) {
	const { default: uPlot } = await import("./uPlot.esm.js");
	const x = c.samples.map((s) => s.at), axis = { stroke: css("--faint"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line"), width: 1 } };
	const plot = new uPlot({
		width: holder.clientWidth || 500, height: HEIGHT, scales: { x: { time: false }, y: { range: (u, low, high) => [0, high > 0 ? high * 1.05 : 1] } }, legend: { show: false }, cursor: { drag: { x: false } },
		axes: [{ ...axis, values: (u, ticks) => ticks.map((t) => `${t} s`) }, { ...axis, size: 60, values: (u, ticks) => ticks.map(waited) }],
		series: [{}, { label: "waited", stroke: css("--accent"), width: 1.5, points: { show: false } }],
		hooks: { drawClear: [(u) => {
			u.ctx.save();
			u.ctx.fillStyle = css("--band");
			c.samples.forEach((s, i) => {
				if (!s.held) return;
				const from = u.valToPos(s.at, "x", true), to = u.valToPos(x[i + 1] ?? s.at, "x", true);
				u.ctx.fillRect(from, u.bbox.top, Math.max(1, to - from), u.bbox.height);
			});
			u.ctx.restore();
		}] },
	}, [x, c.samples.map((s) => s.waits)], holder);
	const canvas = plot.root.querySelector("canvas");
	canvas.setAttribute("role", "img");
	canvas.setAttribute("aria-label", "what was waited before, during and after; shaded where it was held back");
}

export function confirmPart(id, who) {
	const said = element("div", { role: "status", "aria-live": "polite" });
	const button = element("button", { type: "button", title: "it is slowed down for eight phases of two seconds, half of them, by chance", onclick: async () => {
		button.disabled = true;
		said.replaceChildren(element("p", { class: "hint" }, `holding ${who} back in turns; this takes some twenty seconds ...`));
		try {
			const c = await tell("confirm", { id: Number(id) });
			const chart = element("div");
			said.replaceChildren(element("p", { class: `summary ${{ yes: "slow", no: "calm" }[c.verdict] ?? ""}` }, sentence(c)), element("p", { class: "hint" }, `How: ${c.how}. Shaded: held back. It used ${c.short === "disk" ? formatValue(c.use_free, "bytes/s") : `${c.use_free.toFixed(2)} CPUs`}, held back ${c.short === "disk" ? formatValue(c.use_held, "bytes/s") : `${c.use_held.toFixed(2)} CPUs`}.`), chart);
			await drawChart(chart, c);
		} catch (e) {
			said.replaceChildren(element("p", { class: "error-text" }, e.message));
		}
		button.disabled = false;
	} }, `Is it really ${who}? Hold it back in turns`);
	return element("div", { class: "confirm" }, button, said);
}
