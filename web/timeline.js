// The threads' states over time, like the Concurrency Visualizer's threads view. What is drawn is the server's: rows,
// order, level of detail, sums, chains; here it becomes pixels, and the address.
import { ask } from "./api.js";
import { Axis, formatMoment, formatSpan, parseMoment } from "./axis.js";
import { element, loadStyle, setIdle, waiting } from "./dom.js";
import { gestures } from "./gestures.js";
import { drawInstant } from "./instant.js";
import { CLASSES, KINDS, Rows, USES, classOfState, classOfUse, decodeRuns, runAt } from "./lines.js";
import { HIDDEN, choice, eventsChoice, field, freezeAnew, keys, redrawn, showsNothing, statusLine } from "./pane.js";
import { drawProfile } from "./profile.js";
import { chooseRange, chosenRange } from "./selection.js";
import { setState, state } from "./state.js";
import { CPU_ROW, GAP, PITCH, ROW, RULER, drawHead, drawOver, rowIn } from "./timeline-draw.js";

const SPARE_ROWS = 12; // asked for above and below those that are seen
const SETTLED = 140; // ms without a change until the address and the profile follow

let ui = null, status = null;
let known = null; // of the recording: { key, origin, limits, states, frozen }
let axis = null, data = null, profile = null, instant = null, marks = [];
let asking = false, settle = 0, frame = 0;
let written = {}; // the address as the drawing left it: it may have moved on since

const recording = (s) => `${s.mark ?? ""}:${s.mark ? "" : s.freeze ?? ""}`;
const source = (s) => ({ mark: s.mark, freeze: s.mark ? null : s.freeze });
const pathOf = (s) => (s.path && s.tid ? s.tid : null);
const question = (s) => ({ ...source(s), order: s.order, order_since: s.osince && `@${s.osince}`, order_until: s.ountil && `@${s.ountil}`,
	filter: s.filter, hide: s.hide, folded: s.fold, pid: s.pid, path: pathOf(s) });
const at = (t) => `@${formatMoment(axis.moment(t))}`;

// --- what is asked ---

// False: another one is wanted in the meantime.
async function openRecording(s) {
	const key = recording(s);
	const done = waiting(status, "reading the events ...");
	const a = await ask("timeline", { ...source(s), points: 1, rows: 1 }).finally(done);
	if (recording(state()) !== key) return false;
	const origin = parseMoment(a.recorded.start);
	known = { key, origin, limits: { from: 0, to: a.recorded.ns }, states: a.states, uses: a.uses, events: a.events, frozen: Number(parseMoment(a.frozen) - origin) };
	data = profile = null;
	known.said = `${a.events.toLocaleString("en")} events of ${formatSpan(a.recorded.ns)}${a.hidden ? `; ${HIDDEN}` : ""}`;
	tellRecording();
	marks = (await ask("marks").catch(() => ({ marks: [] }))).marks;
	return true;
}

function tellRecording() {
	status.textContent = known.said;
	status.classList.remove("error");
}

const everything = () => new Axis(known.origin, 0, known.limits.to, ui.width, known.limits);

function placeAxis(s) {
	const range = chosenRange(s), all = everything();
	const from = range ? Number(range.from - known.origin) : 0, to = range ? Number(range.to - known.origin) : 0;
	written = s;
	axis = range && to > 0 && from < known.limits.to ? all.within(Math.max(0, from), Math.min(known.limits.to, to)) : all;
}

const seenRows = () => {
	const first = Math.floor(ui.rows.scrollTop / PITCH);
	return { first, count: Math.ceil(ui.rows.clientHeight / PITCH) + 1 };
};

function linesWanted(s) {
	const key = JSON.stringify(question(s)), { first, count } = seenRows();
	const total = data?.total ?? 1e9;
	const fine = axis.span / (axis.width * devicePixelRatio);
	if (data && data.key === key && data.first <= Math.min(first, total) && data.first + data.lines.length >= Math.min(first + count, total) &&
		axis.from >= data.from - 1 && axis.to <= data.to + 1 && (fine > 0.6 * data.point || data.point <= 1)) return null;
	const from = Math.floor(Math.max(known.limits.from, axis.from - axis.span / 2)), to = Math.ceil(Math.min(known.limits.to, axis.to + axis.span / 2));
	const points = Math.min(16384, Math.max(16, Math.round((to - from) / fine)));
	return { key, from, to, point: (to - from) / points, first: Math.max(0, first - SPARE_ROWS),
		parameters: { ...question(s), since: at(from), until: at(to), points, first: Math.max(0, first - SPARE_ROWS), rows: count + 2 * SPARE_ROWS } };
}

// One question at a time: where the view has moved on in the meantime, the next one is of where it is now.
async function askLines() {
	if (asking || !axis) return;
	const wanted = linesWanted(state());
	if (!wanted) return;
	asking = true;
	const rec = known;
	try {
		const a = await ask("timeline", wanted.parameters);
		if (rec === known) takeLines(a, wanted);
		if (rec === known && status.classList.contains("error")) tellRecording(); // it answers again
	} catch (e) {
		fail(e);
		asking = false;
		return;
	}
	asking = false;
	redraw();
	askLines();
}

function takeLines(a, wanted) {
	const base = Number(parseMoment(a.window.start) - known.origin);
	data = { key: wanted.key, from: wanted.from, to: wanted.to, point: wanted.point, base, first: a.rows.first, total: a.rows.total, mixes: a.mixes, people: a.people,
		lines: a.rows.lines.map((l) => ({ ...l, decoded: l.runs ? decodeRuns(l.runs, a.unit_ns, false) : null })),
		cpus: a.cpus.map((c) => ({ ...c, decoded: decodeRuns(c.runs, a.unit_ns, true) })),
		path: a.path && a.path.map((p) => ({ ...p, from: base + p.from, tid: a.people[p.who].tid })) };
	ui.stage.style.height = `${data.total * PITCH}px`;
	ui.rows.style.maxHeight = `${data.total * PITCH + 4}px`; // no more room than they take
	ui.body.colours(known.states, data.mixes);
	ui.head.colours(known.uses, data.mixes);
	drawNames(state());
}

async function askProfile() {
	const s = state();
	const parameters = { ...question(s), path: null, since: at(Math.round(axis.from)), until: at(Math.round(axis.to)), points: 1, first: data?.first ?? 0, rows: Math.max(1, data?.lines.length ?? 60) };
	const rec = known;
	try {
		const a = await ask("timeline", parameters);
		if (rec !== known) return;
		profile = a;
		ui.showProfile(s);
		drawNames(s);
	} catch (e) {
		fail(e);
	}
}

async function askInstant(s) {
	if (!known || !axis) return;
	const key = `${recording(s)} ${s.tid} ${s.when}`;
	if (!s.tid || !s.when) {
		instant = null;
	} else if (instant?.key !== key) {
		try {
			const a = await ask("instant", { ...source(s), tid: s.tid, at: `@${s.when}` });
			const base = Number(parseMoment(a.interval.start) - known.origin);
			instant = { key, answer: a, from: base, to: base + a.interval.ns, chain: a.chain.map((p) => ({ ...p, from: base + p.from, tid: a.people[p.who].tid })) };
		} catch (e) {
			instant = { key, error: e.message };
		}
	}
	if (!known || !axis) return;
	drawInstant(ui.instant, instant, { states: known.states, moment: (t) => axis.moment(t), onSpan: showSpan,
		onThread: (tid, pid) => { ui.rows.focus({ preventScroll: true }); chooseThread(tid, pid); } }); // the panel with the button goes
	redraw();
}

function fail(e) {
	status.textContent = e.message;
	status.classList.add("error");
}

// --- moving ---

function moveTo(next) {
	axis = next;
	redraw();
	askLines();
	clearTimeout(settle);
	settle = setTimeout(settled, SETTLED);
}

function settled() {
	if (!axis) return; // another recording is being opened
	const whole = axis.from <= known.limits.from && axis.to >= known.limits.to;
	chooseRange(whole ? null : axis.moment(axis.from), whole ? null : axis.moment(axis.to), true);
	written = state();
	askProfile();
}

const showSpan = (from, to) => moveTo(axis.within(from - (to - from) * 0.15, to + (to - from) * 0.15));

function chooseThread(tid, pid) {
	setState({ tid: String(tid), pid: pid ? String(pid) : state().pid, when: null });
}

function chooseInstant(line, t) {
	setState({ tid: String(line.tid), pid: String(line.pid || ""), when: formatMoment(axis.moment(t)) });
}

function toggleFold(pid) {
	const folded = new Set((state().fold ?? "").split(",").filter(Boolean));
	if (!folded.delete(String(pid))) folded.add(String(pid));
	setState({ fold: [...folded].join(",") });
}

const hiddenOf = (s) => (s.hide ?? "").split(",").filter(Boolean);

// The chosen thread's process; a thread of the kernel alone.
function hideChosen() {
	const l = lineAt(rowOf(Number(state().tid)));
	if (l) setState({ hide: [...hiddenOf(state()), l.pid || l.tid].join(","), tid: null, when: null, path: null });
}

function showHidden() {
	ui.filter.querySelector("input").focus(); // the button goes
	setState({ hide: null });
}

// --- drawing ---

const lineAt = (i) => data?.lines[i - data.first] ?? null;
const rowOf = (tid) => rowIn(data, tid);

function redraw() {
	frame ||= requestAnimationFrame(draw);
}

function draw() {
	frame = 0;
	if (!axis || !data || !ui.body.image || ui.main.hidden) return; // (no image: it has no size yet, because the style sheet has not come)
	const scroll = ui.rows.scrollTop;
	const seen = { axis, data, marks, instant, origin: known.origin, scroll, height: ui.rows.clientHeight, chosen: state().tid ? Number(state().tid) : null };
	ui.body.draw(axis, scroll, data.total, (i) => lineAt(i)?.decoded, data.base);
	ui.head.draw(axis, -RULER, data.cpus.length, (i) => data.cpus[i].decoded, data.base);
	drawHead(ui.head.context, seen);
	drawOver(ui.body.context, seen);
}

const usesInWords = (sums) => known.uses.map((use) => [sums[use] ?? 0, USES.find((u) => u.key === classOfUse(use)).text]).filter(([ns]) => ns)
	.map(([ns, text]) => `${text} ${percent(ns, profile.window.ns)}`).join(", ") || "nothing is known";

// --- names: the rows for the keyboard and for screen readers ---

const percent = (part, whole) => `${whole ? Math.round(100 * part / whole) : 0} %`;

function waitedOf(sums) {
	let ran = 0, waited = 0;
	for (const state of known.states) {
		const ns = sums?.[state.name] ?? 0;
		if (state.contended) waited += ns;
		if (["running", "kernel"].includes(classOfState(state))) ran += ns;
	}
	return { ran, waited };
}

function nameOf(l) {
	if (l.tid === null) return `${shortName(l)} (${l.threads} threads)`;
	return l.first || l.alone ? `${l.process === l.name || !l.pid ? l.name : `${l.process}: ${l.name}`} ${l.tid}` : `${l.name} ${l.tid}`;
}

// What of it fits next to the rows: all of it is its tooltip, and what is read out.
const shortName = (l) => (l.tid === null ? `${l.process}${l.pid ? ` ${l.pid}` : ""}` : nameOf(l));

function drawNames(s) {
	if (!data) return;
	const sums = new Map((profile?.rows.lines ?? []).map((l) => [`${l.pid}:${l.tid}`, l.sums]));
	let group = null;
	ui.names.replaceChildren(...data.lines.map((l, i) => {
		if (l.tid === null) group = l.pid;
		l.alone = l.tid !== null && l.pid !== group;
		const { ran, waited } = waitedOf(sums.get(`${l.pid}:${l.tid}`));
		const numbers = l.tid !== null && profile ? `, waited ${percent(waited, profile.window.ns)}, ran ${percent(ran, profile.window.ns)}` : "";
		const chosen = l.tid !== null && String(l.tid) === s.tid;
		const e = element("div", { role: "option", id: `row-${i + data.first}`, class: `name${l.tid === null ? " group" : l.alone ? " alone" : ""}${l.first ? " lit" : ""}`,
			"aria-selected": chosen, title: `${nameOf(l)}${numbers}`, "aria-label": `${nameOf(l)}${numbers}${l.tid === null ? (l.folded ? ", folded" : ", unfolded") : ""}`,
			onclick: () => (l.tid === null ? toggleFold(l.pid) : chooseThread(l.tid, l.pid)) },
		l.tid === null ? `${l.folded ? "▸" : "▾"} ${shortName(l)}` : shortName(l));
		e.style.top = `${(i + data.first) * PITCH}px`;
		return e;
	}));
	const row = s.tid ? rowOf(Number(s.tid)) : -1;
	if (row >= 0) ui.rows.setAttribute("aria-activedescendant", `row-${row}`);
	else ui.rows.removeAttribute("aria-activedescendant");
	ui.cpus.replaceChildren(...data.cpus.map((c) => element("div", {}, `CPU ${c.cpu}`)));
}

function step(by) {
	const threads = data?.lines.filter((l) => l.tid !== null) ?? [];
	if (!threads.length) return;
	const i = threads.findIndex((l) => String(l.tid) === state().tid);
	const l = threads[Math.max(0, Math.min(threads.length - 1, i < 0 ? 0 : i + by))];
	chooseThread(l.tid, l.pid);
	const y = rowOf(l.tid) * PITCH;
	if (y < ui.rows.scrollTop) ui.rows.scrollTop = y;
	else if (y + PITCH > ui.rows.scrollTop + ui.rows.clientHeight) ui.rows.scrollTop = y + PITCH - ui.rows.clientHeight;
}

// The moment nearest to `t` at which something is known of a line.
function nearest(runs, t) {
	let best = t, off = Infinity;
	for (let i = 0; i < (runs?.from.length ?? 0); i++) {
		const there = Math.max(data.base + runs.from[i] + 1, Math.min(data.base + runs.to[i] - 1, t));
		if (Math.abs(there - t) < off) [best, off] = [there, Math.abs(there - t)];
	}
	return best;
}

// The chosen thread's interval in the middle of this window, or the one before or after the chosen one.
function stepInstant(by) {
	const s = state(), line = lineAt(rowOf(Number(s.tid)));
	if (!line) return step(0);
	let t = nearest(line.decoded, axis.from + axis.span / 2);
	if (by && instant && !instant.error) t = by > 0 ? instant.to + 1 : instant.from - 1;
	if (t < axis.from || t > axis.to) moveTo(axis.pan(t - (axis.from + axis.span / 2)));
	chooseInstant(line, t);
}

// --- mouse and fingers ---

function hover(e, runs, kinds, who) {
	const x = e.offsetX, t = axis.at(x) - data.base, i = runs ? runAt(runs, t) : -1;
	ui.hover.hidden = i < 0;
	if (i < 0) return;
	const what = runs.what[i];
	if (what >= KINDS) {
		const mix = data.mixes[what - KINDS], parts = [];
		for (let k = 0; k < mix.length; k += 2) parts.push([mix[k + 1], kinds(mix[k])]);
		ui.hover.textContent = `${parts.sort((a, b) => b[0] - a[0]).map(([share, text]) => `${text} ${Math.round(share / 0.16)} %`).join(", ")}`;
	} else {
		ui.hover.textContent = `${who && runs.who[i] >= 0 ? `${who(runs.who[i])}: ` : ""}${kinds(what)}, ${formatSpan(runs.to[i] - runs.from[i])}`;
	}
	const box = ui.lines.getBoundingClientRect();
	ui.hover.style.top = `${e.clientY - box.top + 16}px`;
	ui.hover.style.left = `${Math.min(e.clientX - box.left + 12, box.width - 180)}px`;
}

function click(e) {
	if (e.currentTarget === ui.body.canvas) {
		const line = lineAt(Math.floor((e.offsetY + ui.rows.scrollTop) / PITCH));
		if (line?.tid === null) toggleFold(line.pid);
		else if (line) chooseInstant(line, axis.at(e.offsetX));
		return;
	}
	const cpu = data.cpus[Math.floor((e.offsetY - RULER) / (CPU_ROW + GAP))], i = cpu ? runAt(cpu.decoded, axis.at(e.offsetX) - data.base) : -1;
	const who = i >= 0 && cpu.decoded.who[i] >= 0 ? data.people[cpu.decoded.who[i]] : null;
	if (who) setState({ tid: String(who.tid), pid: String(who.pid), when: formatMoment(axis.moment(axis.at(e.offsetX))) });
}

function hoverAt(e) {
	ui.hover.hidden = true;
	if (!e || !data) return;
	if (e.currentTarget === ui.body.canvas) {
		const line = lineAt(Math.floor((e.offsetY + ui.rows.scrollTop) / PITCH));
		hover(e, line?.decoded, (k) => known.states[k].text, null);
	} else {
		const cpu = data.cpus[Math.floor((e.offsetY - RULER) / (CPU_ROW + GAP))];
		hover(e, cpu?.decoded, (k) => USES.find((u) => u.key === classOfUse(known.uses[k])).text, (k) => `${data.people[k].name} (${data.people[k].tid})`);
	}
}

function showBrush(left, width) {
	ui.brush.hidden = width === 0;
	ui.brush.style.left = `${ui.body.canvas.getBoundingClientRect().left - ui.lines.getBoundingClientRect().left + left}px`;
	ui.brush.style.width = `${width}px`;
	ui.brush.replaceChildren(element("span", {}, formatSpan(width / axis.width * axis.span)));
}

function listen(canvas) {
	gestures(canvas, { axis: () => axis, moveTo, click, hover: hoverAt, brush: showBrush, scrolls: canvas === ui.body.canvas });
	canvas.addEventListener("dblclick", () => axis && moveTo(everything()));
}

// --- the pane ---

function build(main) {
	loadStyle("/timeline.css");
	loadStyle("/panes.css");
	status = statusLine();
	const events = eventsChoice();
	const order = choice("order", "order by", [["waited", "waited most"], ["ran", "ran most"], ["name", "name"], ["pid", "number"]]);
	const filter = field("filter", "filter", { placeholder: "name, unit, number", type: "search", live: true });
	const button = (text, title, onclick) => element("button", { type: "button", title, onclick }, text);
	const freeze = freezeAnew();
	const sort = button("Order by this window", "which waited most in this window, not in the whole recording",
		() => setState({ osince: formatMoment(axis.moment(axis.from)), ountil: formatMoment(axis.moment(axis.to)) }));
	const path = element("button", { type: "button", title: "of the chosen thread (p)", "aria-pressed": false, onclick: togglePath }, "Critical path");
	const hide = button("Hide", "the chosen thread's process (h)", hideChosen), unhide = button("", "what was hidden, too", showHidden);
	const head = element("canvas", { class: "head", role: "img", "aria-label": "what ran on each CPU" });
	const body = element("canvas", { class: "body", "aria-hidden": true }); // what it shows is reported by the rows, and of one interval by its panel
	ui = { main, events, order, filter, path, freeze, sort, hide, unhide, width: 600,
		head: new Rows(head, { row: CPU_ROW, gap: GAP, classes: USES, classOf: classOfUse }),
		body: new Rows(body, { row: ROW, gap: GAP, classes: CLASSES, classOf: classOfState }),
		cpus: element("div", { class: "cpus" }), names: element("div", { class: "names", role: "presentation" }),
		hover: element("div", { class: "hover", hidden: true }), brush: element("div", { class: "brush", hidden: true }),
		profile: element("div", { class: "profile" }), instant: element("div", { class: "instant", "aria-live": "polite" }) };
	ui.stage = element("div", { class: "stage", role: "presentation" }, element("div", { class: "pinned", role: "presentation" }, body), ui.names);
	ui.rows = element("div", { class: "rows", tabindex: 0, role: "listbox", "aria-label": "threads; arrows choose one, Enter its interval" }, ui.stage);
	ui.lines = element("div", { class: "lines" }, ui.cpus, head, ui.rows, ui.brush, ui.hover);
	ui.showProfile = (s) => {
		drawProfile(ui.profile, profile, { tid: s.tid, classOfState, classOfUse });
		head.setAttribute("aria-label", `what ran on each CPU: ${profile.cpus.map((c) => `CPU ${c.cpu}: ${usesInWords(c.sums)}`).join("; ")}`);
	};
	main.replaceChildren(
		element("section", { class: "toolbar", "aria-label": "what is shown" }, events, freeze, order, sort, filter, hide, unhide, path,
			button("Everything", "all that is recorded (0)", () => moveTo(everything())), status),
		element("section", { class: "threads", "aria-label": "threads over time" }, ui.lines,
			element("p", { class: "hint" }, "Drag to zoom, shift + drag or arrows to pan, + and - or Ctrl + wheel to zoom (or w, a, s, d), 0 for everything; up and down choose a thread, Enter its interval, , and . the one before and after, p its critical path, f folds its process, h hides it.")),
		element("section", { class: "beside", "aria-label": "of this window" },
			element("section", { "aria-labelledby": "profile-title" }, element("h2", { id: "profile-title" }, "This window"), ui.profile),
			element("section", { "aria-labelledby": "instant-title" }, element("h2", { id: "instant-title" }, "The chosen interval"), ui.instant)));
	listen(head);
	listen(body);
	ui.rows.addEventListener("scroll", () => { redraw(); askLines(); });
	redrawn(ui.lines, () => { measure(); if (data) { ui.body.colours(known.states, data.mixes); ui.head.colours(known.uses, data.mixes); } redraw(); askLines(); });
	const [back, on] = [-0.2, 0.2].map((share) => () => axis && moveTo(axis.pan(share * axis.span))), [closer, away] = [0.5, 2].map((factor) => () => axis && moveTo(axis.zoom(factor)));
	keys(main, {
		ArrowLeft: back, a: back, ArrowRight: on, d: on, "+": closer, "=": closer, w: closer, "-": away, s: away,
		0: () => axis && moveTo(everything()),
		ArrowUp: () => step(-1), ArrowDown: () => step(1), Enter: (e) => (e.target.matches("button, a") ? false : stepInstant(0)),
		",": () => stepInstant(-1), ".": () => stepInstant(1), p: togglePath, Escape: () => setState({ tid: null, when: null, path: null }),
		h: hideChosen,
		f: () => { const l = lineAt(rowOf(Number(state().tid))); if (l) toggleFold(l.pid); },
	});
}

function togglePath() {
	const s = state(), first = data?.lines.find((l) => l.tid !== null);
	setState({ path: s.path ? null : "1", ...(s.tid || !first ? {} : { tid: String(first.tid), pid: String(first.pid || "") }) });
}

function measure() {
	if (!ui.rows.clientHeight) return; // not seen
	const style = getComputedStyle(ui.lines).gridTemplateColumns.split(" ");
	const width = Math.floor(parseFloat(style[1]) - (ui.rows.offsetWidth - ui.rows.clientWidth));
	if (!(width > 0)) return; // the style sheet has not come yet
	ui.width = width;
	if (axis) axis = new Axis(axis.origin, axis.from, axis.to, ui.width, axis.limits);
	ui.body.resize(ui.width, ui.rows.clientHeight);
	ui.head.resize(ui.width, RULER + (data?.cpus.length ?? 2) * (CPU_ROW + GAP) + 2);
}

// The range stands in the address after the drawing has moved: that is not news, even where it has moved on since.
const isHere = (s) => (s.from ?? null) === (written.from ?? null) && (s.to ?? null) === (written.to ?? null);

export async function show(main, s, changed) {
	if (!ui) build(main);
	for (const part of [ui.events, ui.freeze, ui.order, ui.filter]) part.show(s);
	ui.path.setAttribute("aria-pressed", String(Boolean(s.path)));
	setIdle(ui.hide, !s.tid);
	ui.unhide.hidden = !s.hide;
	ui.unhide.textContent = `Show ${hiddenOf(s).length} hidden`;
	showsNothing(main, !known);
	measure();
	if (!known || known.key !== recording(s)) {
		axis = instant = data = null;
		for (const part of [ui.names, ui.cpus, ui.profile, ui.instant]) part.replaceChildren();
		for (const rows of [ui.head, ui.body]) rows.blank();
		try {
			if (!await openRecording(s)) return;
		} catch (e) {
			known = null;
			showsNothing(main, true);
			return fail(e);
		}
		showsNothing(main, false);
		measure();
	}
	s = state();
	if (!axis || !isHere(s)) placeAxis(s);
	if (changed("tid", "path", "fold", "filter", "hide", "order", "pid")) drawNames(s);
	await askLines();
	measure();
	redraw();
	askProfile();
	if (changed("tid", "when", "mark", "freeze")) await askInstant(s);
}
