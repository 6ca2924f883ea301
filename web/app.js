// Joins the panes: what the address says is asked for and drawn.
import { ask, Away, follow, press, RETRY } from "./api.js";
import { wayUp } from "./descent.js";
import { closeDoor, showDoor } from "./door.js";
import { element, replaceContents, waiting } from "./dom.js";
import { drawFeatures } from "./features.js";
import { localTime, spanSeconds } from "./format.js";
import { drawLives } from "./lives.js";
import { drawProcesses } from "./processes.js";
import { programPanel } from "./program.js";
import { begin, logOut, onArrival, onEnd, remember } from "./session.js";
import { drawCurveNames, drawSeries, resolutionText } from "./series.js";
import { showsNothing } from "./pane.js";
import { onState, setState, state } from "./state.js";
import { drawVerdict } from "./verdict.js";

const WINDOW = "4h";
// Views with a module of their own, loaded when first shown: show(main, state, changed) draws it; `changed(...keys)` tells
// whether one of these keys of the address is another than when it was last shown.
const PANES = { timeline: "./timeline.js", blame: "./blame.js", flame: "./flame.js", incidents: "./incidents.js", spans: "./spans.js", fleet: "./fleet.js" };
const LEAST_CURVE = 30; // s
const AFTERWARDS = 0.2; // of the time before a moment of the past, as in the program's own curve
const LIVES = 60; // bars
const GUTTER = 80; // px left of a curve
const STEP = 10, POINTS = 600, REDRAW_CURVE = 5000;
const get = (id) => document.getElementById(id);

let board = null, profile = null, marks = [];
let unfollow = null, followed = null, drawn = {}, curveDrawn = 0, away = false;
let boardOf = null; // the last question for a moment, { moment: momentOf() }: an answer to an earlier one is dropped
let marksRead = null;
const program = programPanel();
let newest = null, silent = null; // the last board of now; why there is none

const window_ = (s) => s.window || WINDOW;
const NAMED = { requests: "spans" }; // a tab's name in place of its view's
function viewOf(s) {
	const view = NAMED[s.view] ?? s.view;
	return view === "machine" || Object.hasOwn(PANES, view ?? "") ? view : s.mark ? "incidents" : "machine";
}

function say(text, error = false) {
	get("status").textContent = text;
	get("status").classList.toggle("error", error);
}
const failed = (e) => say(e.message, true);

// --- what is asked ---

function showVerdict() {
	if (!board) return;
	drawVerdict(get("verdict"), board.verdict, marks.find((m) => String(m.id) === state().at));
	get("verdict").prepend(wayUp());
}

function takeBoard(b) {
	board = b;
	const s = state();
	showVerdict();
	if (!s.at && document.activeElement !== get("at")) get("at").value = localTime(b.at);
	showsNothing(get("machine"), false);
	if (viewOf(s) !== "machine") return;
	showProcesses(s);
	if (chosen(s)) showFeatures(s, s.at || Date.now() - curveDrawn > REDRAW_CURVE);
}

// The one that is named most, else the most unusual one, as long as nothing chose.
const chosen = (s) => s.pid || (board?.processes.length ? String(board.processes.reduce((a, b) => (b.culprit_score > a.culprit_score ? b : a)).pid) : null);

function showProcesses(s) {
	if (!board) return;
	drawProcesses(get("process-list"), board, { chosen: chosen(s), filter: s.filter, onChoose: (pid, walk) => setState({ pid, feature: null }, false, walk),
		onAdd: (pid) => feature(state()) && layOver(pid, feature(state())) });
}

const layOver = (pid, name) => setState({ more: [...new Set([...more(state()), `${pid}:${name}`])].slice(-3).join(",") });

async function showFeatures(s, curvesToo) {
	const pid = chosen(s);
	let answer;
	try {
		answer = await ask("process", { at: s.at ? s.at : null, window: window_(s), for: pid, model: s.model });
	} catch (e) {
		if (pid === chosen(state())) showNobody(pid, e);
		return;
	}
	if (pid !== chosen(state()) || momentOf(s) !== momentOf(state())) return; // another one was chosen in the meantime
	profile = answer;
	get("features-title").textContent = `Features of ${profile.process.label} (${pid})`;
	get("features-title").title = profile.process.cmdline || "";
	program.show(pid, s.at, (other) => setState({ pid: other, feature: null }));
	drawFeatures(get("feature-list"), profile, { chosen: feature(state()), onChoose: (name, walk) => setState({ feature: name }, false, walk),
		onAdd: (name) => layOver(pid, name) });
	if (curvesToo) showCurves(state());
}

// Of a process that was not there: nothing that another one or another moment would tell stays.
function showNobody(pid, error) {
	profile = null;
	get("features-title").textContent = `Features of ${pid}`;
	replaceContents(get("feature-list"), element("p", { class: "error-text" }, error.message));
	showNoCurve("");
}

// Of a moment of which nothing is recorded.
function showNothing(error) {
	board = null;
	showsNothing(get("machine"), true);
	if (document.activeElement !== get("at")) get("at").value = "";
	say("");
	get("verdict").replaceChildren(element("p", { class: "error-text" }, error.message), element("p", { class: "hint" }, "Live shows what is recorded now; a moment is given as 14:32, -5min or 2026-11-20 14:32:07, and the incidents have theirs."));
	livesOf = null;
}

function showNoCurve(words) {
	get("resolution").textContent = "";
	drawCurveNames(get("curves"), []);
	drawSeries(get("chart"), [], {});
	const back = state().from ? element("button", { type: "button", onclick: () => setState({ from: null, to: null }) }, "the whole window") : "";
	get("chart").replaceChildren(element("p", { class: "error-text" }, words), words ? back : "");
	if (!board) return;
	const [from, to] = range(state());
	showLives(from, to, { left: GUTTER, width: Math.max(100, get("chart").clientWidth - GUTTER), from, to });
}

const feature = (s) => s.feature || profile?.features[0]?.name || null;
const more = (s) => (s.more ? s.more.split(",") : []);

// Seconds: what was zoomed to, else what of the window is recorded. Of a moment chosen in the timeline its surroundings:
// there is one value a second.
function range(s) {
	const at = Date.parse(board.at) / 1000, start = Date.parse(board.recorded.start) / 1000;
	const from = s.from ? Number(s.from) : Math.max(start, at - spanSeconds(window_(s)));
	const to = s.to ? Number(s.to) : s.at ? Math.max(at, Math.min(Date.parse(board.recorded.end) / 1000, at + AFTERWARDS * (at - from))) : at;
	const more = Math.max(0, LEAST_CURVE - (to - from)) / 2;
	return [from - more, to + more];
}

async function showCurves(s) {
	const pid = chosen(s), name = feature(s);
	if (!pid || !name || !board) return;
	curveDrawn = Date.now();
	const at = Date.parse(board.at) / 1000;
	const [from, to] = range(s);
	const done = waiting(get("status"), "reading the curve ...");
	const wanted = [[pid, name], ...more(s).map((m) => [m.slice(0, m.indexOf(":")), m.slice(m.indexOf(":") + 1)])];
	try {
		await marksRead; // they are drawn with it
		const all = await Promise.all(wanted.map(async ([who, what], i) => ({
			// one that is laid over may not have lived then: the others are shown all the same
			data: await ask("series", { at: `@${at.toFixed(3)}`, since: `@${from.toFixed(3)}`, until: `@${to.toFixed(3)}`, for: who, feature: what, points: POINTS }).catch((e) => { if (!i) throw e; return null; }),
			who, what, colour: i, usual: who === pid ? profile?.features.find((f) => f.name === what) : null })));
		const curves = all.filter((c) => c.data);
		if (pid !== chosen(state())) return; // another one was chosen in the meantime
		drawCurveNames(get("curves"), all, (i) => {
			get("feature-list").querySelector("tr[tabindex='0']")?.focus({ preventScroll: true }); // the button goes
			setState({ more: more(state()).filter((_, k) => k !== i).join(",") });
		});
		drawSeries(get("chart"), curves, { at, marks, onPlaced: (place) => showLives(from, to, place), onZoom: (a, b) => zoomTo(a, b), onWheel: (a, b) => zoomTo(a, b, "wheel"),
			onMoment: (t) => { const [a, b] = range(state()); setState({ at: new Date(t * 1000).toISOString(), from: a.toFixed(3), to: b.toFixed(3) }); } });
		get("resolution").textContent = resolutionText(curves[0].data);
	} catch (e) {
		if (pid === chosen(state())) showNoCurve(e.message);
	} finally {
		done();
	}
}

// Asked again when the range has moved by a twentieth: a live page moves on each second.
let livesOf = null, livesPlace = null;
async function showLives(from, to, place) {
	livesPlace = place;
	if (livesOf && livesOf.span === to - from && Math.abs(livesOf.from - from) < (to - from) / 20) return drawLivesAgain();
	const mine = livesOf = { from, span: to - from };
	mine.answer = await ask("lives", { at: `@${to.toFixed(3)}`, since: `@${from.toFixed(3)}`, until: `@${to.toFixed(3)}`, points: LIVES }).catch(() => null);
	if (mine === livesOf) drawLivesAgain();
}
function drawLivesAgain() {
	if (livesOf?.answer) drawLives(get("lives"), livesOf.answer, livesPlace, { chosen: chosen(state()), onChoose: (pid, walk) => setState({ pid, feature: null }, false, walk) });
}

function loadMarks() {
	marksRead = ask("marks").then((answer) => {
		marks = answer.marks;
		showVerdict();
	}, failed);
	return marksRead;
}

function goLive(s) {
	const wanted = `${window_(s)} ${s.model ?? ""}`;
	if (followed === wanted) return;
	unfollow?.();
	newest = null;
	followed = wanted;
	if (viewOf(s) === "machine" && !s.at) say("reading the recording ...");
	unfollow = follow(window_(s), s.model, {
		board: (b) => {
			if (newest?.at === b.at) return; // no recorder: the last moment comes again and again
			newest = b;
			silent = null;
			if (!state().at) showNow();
		},
		mark: async (m) => {
			await loadMarks();
			if (m.source === "rule") return say(`incident, found by a rule: ${m.note || localTime(m.at)} (among the incidents)`); // nothing asked: the one that looks at something continues
			setState({ view: "incidents", mark: m.id });
			queueMicrotask(() => say(`marked: ${m.note || localTime(m.at)}`)); // once it is entered
		},
		ended: (e) => {
			silent = e.reason;
			if (!state().at) showNow();
		},
		lost: (words) => { away = true; say(words, true); },
		found: () => { if (away) askAnew(); },
	});
}

// Of what is recorded now; or why that is nothing.
function showNow() {
	boardOf = null;
	if (newest) {
		if (!silent) say("");
		if (board !== newest) takeBoard(newest);
		if (silent && viewOf(state()) === "machine") say(`this shows ${localTime(newest.at)}; ${silent}`, true);
	} else if (viewOf(state()) === "machine") {
		showNothing(new Error(silent));
	}
}

// The server is back: what was shown may have failed, or be of before.
function askAnew() {
	away = false;
	say("");
	drawn = {};
	boardOf = null;
	paneDrawn[viewOf(state())] = undefined;
	apply(state());
}

async function showMoment(s) {
	const mine = boardOf = { moment: momentOf(s) };
	const done = waiting(get("status"), "reading the recording ...");
	try {
		const b = await ask("board", { at: s.at, window: window_(s), model: s.model });
		if (boardOf !== mine) return; // somewhere else in the meantime
		takeBoard(b);
		get("at").value = localTime(board.at);
		say("");
	} catch (e) {
		if (boardOf !== mine) return;
		showNothing(e);
		if (e instanceof Away && !away) setTimeout(() => boardOf === mine && showMoment(s), RETRY); // that the server is back was said before this failed
	} finally {
		done();
	}
}

// --- the address changed ---

const paneDrawn = {};
async function showPane(view, s) {
	const before = paneDrawn[view];
	paneDrawn[view] = s;
	get(view).setAttribute("aria-busy", "true");
	try {
		const pane = await import(PANES[view]);
		await pane.show(get(view), s, (...keys) => !before || keys.some((k) => before[k] !== s[k]));
	} catch (e) {
		failed(e);
	} finally {
		if (paneDrawn[view] === s) get(view).setAttribute("aria-busy", "false");
	}
}

function apply(s) {
	const view = viewOf(s), entered = document.body.dataset.view !== view;
	for (const a of document.querySelectorAll("nav a")) {
		a.hash = new URLSearchParams({ ...s, view: a.dataset.view }); // the selection goes along
		if (a.dataset.view === view) a.setAttribute("aria-current", "page");
		else a.removeAttribute("aria-current");
		if (a.dataset.view === view) document.title = `${a.textContent} - whyslow`;
	}
	for (const main of document.querySelectorAll("main")) main.hidden = main.id !== view;
	if (document.activeElement !== document.body && !document.activeElement.checkVisibility()) get(view).focus({ preventScroll: true }); // what led here is hidden now
	document.body.dataset.view = view;
	if (entered && !away) say(""); // it was of the other one
	get("window").value = window_(s);
	get("filter").value = s.filter || "";
	get("model").value = s.model || "";
	get("processes-title").textContent = `Processes, ${s.model === "gaussian" ? "least likely" : s.model === "blame" ? "culprits" : "most unusual"} first`;
	get("live").setAttribute("aria-pressed", String(!s.at));
	goLive(s);
	if (PANES[view]) showPane(view, s);
	else showMachine(s, entered);
}

const momentOf = (s) => `${s.at} ${window_(s)} ${s.model ?? ""}`;
function showMachine(s, entered) {
	const changed = (...keys) => keys.some((k) => drawn[k] !== s[k]);
	if (entered || changed("mark")) loadMarks();
	if (s.at && boardOf?.moment !== momentOf(s)) {
		showMoment(s);
	} else if (!s.at && drawn.at) { // live again
		curveDrawn = 0;
		if (newest || silent) showNow();
		else say("reading the recording ...");
	} else {
		if (entered || changed("pid", "filter")) showProcesses(s);
		if (changed("pid", "feature", "why") && board && chosen(s)) showFeatures(s, true);
		else if ((entered || changed("more", "from", "to")) && board) showCurves(s);
	}
	drawn = s;
}

// --- controls ---

function travel(seconds) {
	const asked = state().at ?? "", at = board ? Date.parse(board.at) / 1000 : Number(/^@([\d.]+)$/.exec(asked)?.[1]) || (Date.parse(asked) || Date.now()) / 1000;
	setState({ at: at + seconds >= Date.now() / 1000 - 1 ? null : new Date((at + seconds) * 1000).toISOString() }, false, "travel");
}

function zoomTo(from, to, walk = null) {
	setState({ from: from && from.toFixed(3), to: to && to.toFixed(3) }, false, walk);
}

function pan(share) {
	const s = state();
	if (!board) return;
	const [from, to] = range(s);
	const by = share * (to - from);
	zoomTo(from + by, to + by, "pan");
}

function zoom(factor) {
	if (!board) return;
	const [from, to] = range(state()), middle = (from + to) / 2, half = factor * (to - from) / 2;
	zoomTo(middle - half, middle + half, "zoom");
}

function listen() {
	get("features-title").after(program);
	get("log-out").addEventListener("click", logOut);
	get("earlier").addEventListener("click", () => travel(-STEP));
	get("later").addEventListener("click", () => travel(STEP));
	get("live").addEventListener("click", () => setState({ at: null, from: null, to: null, mark: null }));
	get("window").addEventListener("change", (e) => setState({ window: e.target.value, from: null, to: null }));
	get("model").addEventListener("change", (e) => setState({ model: e.target.value || null }));
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
		else if (e.key === "+" || e.key === "=") zoom(0.5);
		else if (e.key === "-") zoom(2);
		else if (e.key === "0") setState({ from: null, to: null });
		else return;
		e.preventDefault();
	});
}

// --- who is logged in ---

let inside = false;
function enter() {
	if (inside) return;
	inside = true;
	closeDoor();
	get("log-out").hidden = false;
	askAnew();
}

// Reloaded, the page holds nothing of what was shown.
function leave(why) {
	if (!inside) return showDoor(why, enter);
	inside = false;
	remember(why);
	location.reload();
}

async function arrive() {
	const why = await begin();
	if (why) return leave(why);
	enter();
}

listen();
onEnd(leave);
onArrival(enter);
onState((s) => inside && apply(s));
addEventListener("hashchange", () => /[#&]login=/.test(location.hash) && arrive());
arrive();
