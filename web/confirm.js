// Is it really the cause? A button that holds a process back and lets it go (whyslow.confirm/1), and the chart of what was seen before,
// during and after.
import { tell } from "./api.js";
import { element, loadStyle, setIdle, svg } from "./dom.js";

const WIDE = 640, HEIGHT = 170, LEFT = 52, RIGHT = 8, TOP = 18, BOTTOM = 24, SECONDS = 23;
const SHORT = ["cpu", "disk", "memory"];

// Shares of one thread's time; those of several add up to more than one.
const waitedText = (share, several) => (several ? `${share.toFixed(2)} s/s` : `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`);

function headline(t) {
	const held = `${t.name} (pid ${t.pid}${t.pids.length > 1 ? `, ${t.pids.length} processes together` : ""})`;
	const several = t.victims.length > 1;
	const who = t.victims.length === 1 ? `${t.victims[0].name} (pid ${t.victims[0].pid})` : `the ${t.victims.length} programs that wait`;
	const seen = `${who} waited ${waitedText(t.waits_held, several)} while it was held back, ${waitedText(t.waits_free, several)} while it was let go`;
	if (t.verdict === "unclear") return `Cannot tell whether it is ${held}: ${t.reason}.`;
	return t.verdict === "yes" ? `Yes: ${held} makes others wait; ${seen}.` : `No: it is not ${held}; ${seen}.`;
}

function figures(t) {
	const several = t.victims.length > 1, unit = several ? "s/s" : "points";
	const difference = (x) => (several ? x.toFixed(2) : (100 * x).toFixed(0));
	return `Less waiting by ${difference(t.effect)} ${unit} (${difference(t.low)} to ${difference(t.high)} with ${Math.round(100 * t.coverage)} % certainty); of the 70 orders its phases could have had, ${Math.round(70 * t.p)} would show as much by chance. How it was held back: ${t.how}.`;
}

// Stretches of samples that are in the same way, [from, to] in seconds.
function stretches(samples, alike) {
	const list = [];
	let begin = 0;
	samples.forEach((s, i) => {
		const from = i ? (samples[i - 1].at + s.at) / 2 : s.at;
		if (i && alike(s) !== alike(samples[i - 1])) {
			list.push({ from: begin, to: from, value: alike(samples[i - 1]) });
			begin = from;
		}
	});
	list.push({ from: begin, to: samples.at(-1).at, value: alike(samples.at(-1)) });
	return list;
}

export function drawTrial(t) {
	loadStyle("/panes.css");
	const several = t.victims.length > 1, end = t.samples.at(-1).at, width = Math.max(280, Math.min(WIDE, innerWidth - 80)); // letters stay as large on a phone
	const most = Math.max(0.01, ...t.samples.map((s) => s.waits ?? 0));
	const x = (at) => LEFT + (width - LEFT - RIGHT) * at / end, y = (waits) => HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (waits ?? 0) / most;
	const root = svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, class: "trial", role: "img", "aria-label": `${headline(t)} ${t.phases.map((p, i) => `Phase ${i + 1}, ${p.held ? "held back" : "let go"}: ${waitedText(p.waits, several)}.`).join(" ")}` });
	for (const h of stretches(t.samples, (s) => s.held).filter((h) => h.value)) {
		root.append(svg("rect", { class: "held", x: x(h.from), y: TOP, width: x(h.to) - x(h.from), height: HEIGHT - TOP - BOTTOM }));
		root.append(svg("text", { x: (x(h.from) + x(h.to)) / 2, y: TOP - 5, "text-anchor": "middle", class: "faint" }, x(h.to) - x(h.from) > 55 ? "held back" : "held"));
	}
	for (const share of [0, 0.5, 1]) {
		root.append(svg("line", { class: "rule", x1: LEFT, x2: width - RIGHT, y1: y(share * most), y2: y(share * most) }));
		root.append(svg("text", { x: LEFT - 6, y: y(share * most) + 4, "text-anchor": "end", class: "faint" }, waitedText(share * most, several)));
	}
	for (const w of stretches(t.samples, (s) => s.when))
		root.append(svg("text", { x: (x(w.from) + x(w.to)) / 2, y: HEIGHT - 8, "text-anchor": "middle", class: "faint" }, w.value));
	for (const w of stretches(t.samples, (s) => s.when).slice(1)) root.append(svg("line", { class: "rule", x1: x(w.from), x2: x(w.from), y1: TOP, y2: HEIGHT - BOTTOM }));
	root.append(svg("polyline", { class: "waits", points: t.samples.map((s) => `${x(s.at).toFixed(1)},${y(s.waits).toFixed(1)}`).join(" ") }));
	return element("figure", { class: "trial-figure" }, element("p", { class: `summary ${{ yes: "slow", no: "calm" }[t.verdict] ?? ""}` }, headline(t)), root,
		element("figcaption", { class: "hint" }, figures(t)));
}

// The button for one named, all processes of a group; what it is charged with (a bottleneck) says how to hold it back.
export function confirmButton(culprit, bottleneck) {
	const place = element("div", { "aria-live": "polite" });
	const button = element("button", { type: "button", class: "confirm", title: "holds it back for about ten of the next twenty seconds, then releases it", onclick: async () => {
		if (button.getAttribute("aria-disabled") === "true") return;
		let left = SECONDS;
		setIdle(button, true);
		const count = setInterval(() => { left = Math.max(0, left - 1); place.textContent = `holding it back and letting it go, in random order ... ${left} s`; }, 1000);
		place.textContent = `holding it back and letting it go, in random order ... ${left} s`;
		try {
			place.replaceChildren(drawTrial(await tell("confirm", { pids: (culprit.pids.length ? culprit.pids : [culprit.pid]).join(","), ...(SHORT.includes(bottleneck) ? { short: bottleneck } : {}) })));
		} catch (e) {
			place.replaceChildren(element("p", { class: "error-text" }, e.message));
		}
		clearInterval(count);
		setIdle(button, false);
	} }, "Is it really the cause?");
	return element("div", { class: "confirm-row" }, button, place);
}
