// Joins the panes: what the address says is asked for and drawn.
import { ask, follow, press } from "./api.js";
import { drawFeatures } from "./features.js";
import { localTime, spanSeconds } from "./format.js";
import { drawLives } from "./lives.js";
import { drawProcesses } from "./processes.js";
import { drawCurveNames, drawSeries, resolutionText } from "./series.js";
import { onState, setState, state } from "./state.js";
import { drawVerdict } from "./verdict.js";

const WINDOW = "4h";
// Views with a module of their own, loaded when first shown: show(main, state, changed) draws it; `changed(...keys)` tells
// whether one of these keys of the address is another than when it was last shown.
const PANES = { timeline: "./timeline.js", blame: "./blame.js", flame: "./flame.js", incidents: "./incidents.js", spans: "./spans.js", fleet: "./fleet.js" };
const LEAST_CURVE = 30; // s
const LIVES = 60; // bars
const STEP = 10, POINTS = 600, REDRAW_CURVE = 5000;
const get = (id) => document.getElementById(id);

let board = null, profile = null, marks = [], units = {};
let unfollow = null, followed = null, drawn = {}, curveDrawn = 0, ended = null;

const window_ = (s) => s.window || WINDOW;
const viewOf = (s) => s.view || (s.mark ? "incidents" : "machine");

function say(text, error = false) {
	get("status").textContent = text;
	get("status").classList.toggle("error", error);
}
const failed = (e) => say(e.message, true);

// --- what is asked ---

function takeBoard(b) {
	board = b;
	const s = state();
	drawVerdict(get("verdict"), b.verdict);
	if (!s.at && document.activeElement !== get("at")) get("at").value = localTime(b.at);
	if (viewOf(s) !== "machine") return;
	showProcesses(s);
	if (chosen(s)) showFeatures(s, s.at || Date.now() - curveDrawn > REDRAW_CURVE);
}

// The most unusual one, as long as nobody chose.
const chosen = (s) => s.pid || (board?.processes.length ? String(board.processes[0].pid) : null);

function showProcesses(s) {
	if (!board) return;
	drawProcesses(get("process-list"), board, units, { chosen: chosen(s), filter: s.filter, onChoose: (pid) => setState({ pid, feature: null }) });
}

async function showFeatures(s, curvesToo) {
	const pid = chosen(s);
	try {
		profile = await ask("process", { at: s.at ? s.at : null, window: window_(s), for: pid });
	} catch (e) {
		if (pid === chosen(state())) failed(e);
		return;
	}
	get("features-title").textContent = `Features of ${profile.process.label} (${pid})`;
	get("features-title").title = profile.process.cmdline || "";
	drawFeatures(get("feature-list"), profile, { chosen: feature(s), onChoose: (name) => setState({ feature: name }),
		onAdd: (name) => setState({ more: [...more(s), `${pid}:${name}`].slice(0, 3).join(",") }) });
	if (curvesToo) showCurves(state());
}

const feature = (s) => s.feature || profile?.features[0]?.name || null;
const more = (s) => (s.more ? s.more.split(",") : []);

// Seconds: what was zoomed to, else what of the window is recorded. Of a moment chosen in the timeline its surroundings:
// there is one value a second.
function range(s) {
	const at = Date.parse(board.at) / 1000, start = Date.parse(board.window.start) / 1000;
	const from = s.from ? Number(s.from) : Math.max(start, at - spanSeconds(window_(s))), to = s.to ? Number(s.to) : at;
	const more = Math.max(0, LEAST_CURVE - (to - from)) / 2;
	return [from - more, to + more];
}

async function showCurves(s) {
	const pid = chosen(s), name = feature(s);
	if (!pid || !name || !board) return;
	curveDrawn = Date.now();
	const at = Date.parse(board.at) / 1000;
	const [from, to] = range(s);
	const wanted = [[pid, name], ...more(s).map((m) => [m.slice(0, m.indexOf(":")), m.slice(m.indexOf(":") + 1)])];
	try {
		const curves = await Promise.all(wanted.map(async ([who, what]) => ({
			data: await ask("series", { at: `@${at.toFixed(3)}`, since: `@${from.toFixed(3)}`, until: `@${to.toFixed(3)}`, for: who, feature: what, points: POINTS }),
			usual: who === pid ? profile?.features.find((f) => f.name === what) : null })));
		drawCurveNames(get("curves"), curves, (i) => setState({ more: more(state()).filter((_, k) => k !== i).join(",") }));
		const placed = drawSeries(get("chart"), curves, { at, marks, onZoom: (a, b) => setState({ from: a && a.toFixed(3), to: b && b.toFixed(3) }) });
		get("resolution").textContent = resolutionText(curves[0].data);
		showLives(from, to, await placed);
		say("");
	} catch (e) {
		failed(e);
	}
}

// Asked anew when the range has moved by a twentieth: a live page moves on each second.
let livesOf = null;
async function showLives(from, to, place) {
	if (!place || (livesOf && livesOf.span === to - from && Math.abs(livesOf.from - from) < (to - from) / 20)) return drawLivesAgain(place);
	const mine = livesOf = { from, span: to - from };
	mine.answer = await ask("lives", { at: `@${to.toFixed(3)}`, since: `@${from.toFixed(3)}`, until: `@${to.toFixed(3)}`, points: LIVES }).catch(() => null);
	if (mine === livesOf) drawLivesAgain(place);
}
function drawLivesAgain(place) {
	if (livesOf?.answer && place) drawLives(get("lives"), livesOf.answer, place, { chosen: chosen(state()), onChoose: (pid) => setState({ pid, feature: null }) });
}

async function loadMarks() {
	marks = (await ask("marks")).marks;
}

function goLive(s) {
	if (followed === window_(s)) return;
	unfollow?.();
	followed = window_(s);
	if (viewOf(s) === "machine") say("reading the recording ...");
	unfollow = follow(followed, {
		board: (b) => { if (!state().at) { say(""); takeBoard(b); } },
		mark: async (m) => {
			await loadMarks();
			if (m.kind === "caught") return say(`caught by a rule: ${m.note || localTime(m.at)} (among the incidents)`); // nobody asked: whoever looks at something goes on
			setState({ view: "incidents", mark: m.id });
			say(`marked: ${m.note || localTime(m.at)}`);
		},
		ended: (e) => { if (!state().at && viewOf(state()) === "machine") say(ended = `${board ? `what is shown is of ${localTime(board.at)}; ` : ""}${e.reason}`, true); },
		lost: () => say("no connection to whyslow serve; trying again ...", true),
	});
}

async function showMoment(s) {
	try {
		takeBoard(await ask("board", { at: s.at, window: window_(s) }));
		get("at").value = localTime(board.at);
		say("");
	} catch (e) {
		failed(e);
	}
}

// --- the address changed ---

const paneDrawn = {};
async function showPane(view, s) {
	const before = paneDrawn[view];
	paneDrawn[view] = s;
	try {
		const pane = await import(PANES[view]);
		await pane.show(get(view), s, (...keys) => !before || keys.some((k) => before[k] !== s[k]));
	} catch (e) {
		failed(e);
	}
}

function apply(s) {
	const view = viewOf(s);
	const changed = (...keys) => keys.some((k) => drawn[k] !== s[k]);
	for (const a of document.querySelectorAll("nav a")) {
		a.hash = new URLSearchParams({ ...s, view: a.dataset.view }); // the selection goes along
		if (a.dataset.view === view) a.setAttribute("aria-current", "page");
		else a.removeAttribute("aria-current");
	}
	for (const main of document.querySelectorAll("main")) main.hidden = main.id !== view;
	if (PANES[view]) showPane(view, s);
	if (view !== "machine" && get("status").textContent === ended) say(""); // it is of the machine's pane
	get("window").value = window_(s);
	get("filter").value = s.filter || "";
	get("live").setAttribute("aria-pressed", String(!s.at));
	goLive(s);
	document.body.dataset.view = view;
	if (changed("mark", "view")) loadMarks().catch(failed);
	if (s.at && changed("at", "window")) showMoment(s);
	else if (changed("pid", "filter")) showProcesses(s);
	if (changed("pid", "feature") && board && chosen(s)) {
		showFeatures(s, true);
		showProcesses(s);
	} else if (changed("more", "from", "to", "view") && board) {
		showCurves(s);
	}
	drawn = s;
}

// --- controls ---

function travel(seconds) {
	const at = board ? Date.parse(board.at) / 1000 : Date.now() / 1000;
	setState({ at: at + seconds >= Date.now() / 1000 - 1 ? null : new Date((at + seconds) * 1000).toISOString() });
}

function pan(share) {
	const s = state();
	if (!board) return;
	const [from, to] = range(s);
	const by = share * (to - from);
	setState({ from: (from + by).toFixed(3), to: (to + by).toFixed(3) });
}

function listen() {
	get("earlier").addEventListener("click", () => travel(-STEP));
	get("later").addEventListener("click", () => travel(STEP));
	get("live").addEventListener("click", () => setState({ at: null, from: null, to: null }));
	get("window").addEventListener("change", (e) => setState({ window: e.target.value, from: null, to: null }));
	get("filter").addEventListener("input", (e) => setState({ filter: e.target.value }, true));
	get("time").addEventListener("submit", (e) => {
		e.preventDefault();
		setState({ at: get("at").value.trim() || null, from: null, to: null });
	});
	get("mark").addEventListener("submit", async (e) => {
		e.preventDefault();
		try {
			await press(get("note").value.trim());
			get("note").value = "";
		} catch (error) {
			failed(error);
		}
	});
	addEventListener("keydown", (e) => {
		if (e.target.matches("input, select, textarea") || e.ctrlKey || e.metaKey || e.altKey) return;
		if (e.key === "/") document.querySelector("main:not([hidden]) input[type=search]")?.focus();
		else if (e.key === "m") get("note").focus();
		else if (PANES[viewOf(state())]) return; // it has keys of its own
		else if (e.key === "ArrowLeft") e.shiftKey ? pan(-0.25) : travel(-STEP);
		else if (e.key === "ArrowRight") e.shiftKey ? pan(0.25) : travel(STEP);
		else if (e.key === "0") setState({ from: null, to: null });
		else return;
		e.preventDefault();
	});
}

async function loadUnits() {
	try {
		units = Object.fromEntries((await ask("features")).features.filter((f) => f.kind === "process").map((f) => [f.name, f.type === "counter" ? `${f.unit}/s` : f.unit]));
	} catch (e) {
		failed(e);
	}
	showProcesses(state());
}

listen();
onState(apply);
apply(state());
loadUnits();
