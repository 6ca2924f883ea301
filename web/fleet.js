// The fleet: one counter of all servers in three views, two counters against each other, what is unusual, and rules.
// A time range brushed anywhere is everybody's.
import { ask, save } from "./api.js";
import { formatMoment, momentOf, parseMoment } from "./axis.js";
import { choosableTable, element, loadStyle, oddBar, replaceContents, setIdle } from "./dom.js";
import { drawBands, drawScatter, drawServers } from "./fleetcharts.js";
import { CURVE_POINTS, LASTING, LEVELS, SIDES, aroundWindow, baselineOf, columnOf, drawChain, drawCurves, keyOf, limitOf, linksOf, ruleText, spanText, unKey, windowOption } from "./fleetwhy.js";
import { formatValue, localTime } from "./format.js";
import { HeatMap, heatCss } from "./heatmap.js";
import { check as checkBox, choice, emptyState, keys, link, questions, redrawn, showsNothing, statusLine } from "./pane.js";
import { setState, state } from "./state.js";

const TYPING = 350; // ms without a key before a rule is tried
const POINTS = 1000; // along the time: the server puts as many moments together
let parts = null, question = null, ruleQuestion = null, limitQuestion = null, movedQuestion = null, map = null, surface = null;
let moved = null, movedFor = null, historyAsked = false; // what moved with the counter that is shown
let curves = new Map(), curvesOf = null; // by counter: of which answer
let limits = null; // of the baseline: of which counter and answer
let points = null, info = null, overview = null, views = null, other = null, why = null, checked = null;

function build(main) {
	loadStyle("/panes.css");
	const canvas = element("canvas", { tabindex: 0, role: "application", "aria-roledescription": "heat map", "aria-describedby": "heat-said" });
	const scatter = element("canvas", { role: "img" });
	scatter.addEventListener("mousemove", (e) => points && tellPoint(points.find(e.offsetX, e.offsetY)));
	scatter.addEventListener("mouseleave", () => points && tellPoint(null));
	scatter.addEventListener("click", (e) => { const p = points?.find(e.offsetX, e.offsetY); if (p) setState({ server: p.server }); });
	const rule = element("textarea", { id: "rule", rows: 2, spellcheck: "false", placeholder: "when any COUNTER in detail view > 10 report" });
	parts = {
		status: statusLine(), ruleStatus: statusLine(), about: element("div", { class: "hint" }), canvas, scatterCanvas: scatter, rule,
		counter: element("select", { onchange: (e) => setState({ counter: e.target.value }) }), x: element("select", { onchange: (e) => setState({ against: e.target.value }) }),
		whole: element("button", { type: "button", onclick: () => setState({ ffrom: null, fto: null }) }, "whole time"), range: element("span", { class: "hint" }),
		summary: element("p", { class: "summary" }), chain: element("div", { id: "chain" }), curves: element("div", { id: "chain-curves" }), asked: element("button", { type: "button", onclick: () => setState({ symptom: state().symptom ? null : symptomOf(state()) }) }),
		saved: element("button", { type: "button", onclick: saveReport }, "Save the answer as HTML"), savedStatus: statusLine(), makeRule: element("button", { type: "button", onclick: () => startRule({ server: state().server ?? null, counter: views.counter }) }), limit: element("span", { class: "hint" }), limitStatus: statusLine(),
		moments: checkBox("moments", "mean and deviation", "mean, its deviation, minimum and maximum in place of quantiles"),
		side: choice("rside", "is", SIDES), level: choice("rlevel", "limit", LEVELS), lasting: choice("rfor", "for", LASTING), overview: element("div", { class: "overview" }), times: element("div", { id: "unusual-times" }), heat: element("div", { class: "heat-holder" }, canvas), said: element("p", { id: "heat-said", class: "hint", "aria-live": "polite" }),
		legend: element("div", { class: "legend" }), servers: element("div", { class: "scroll stocks" }), time: element("div"), scatter: element("div", {}, scatter), scatterSaid: element("p", { class: "hint" }), movedTitle: element("h2", { id: "moved-title" }, "What moved with it"), moved: element("div", { class: "scroll", id: "moved" }), movedStatus: statusLine(),
		ranks: element("input", { type: "checkbox", onchange: (e) => setState({ ranks: e.target.checked ? "1" : null }) }), ranked: element("div", { class: "scroll" }),
		broken: element("div", { class: "scroll" }), surface: element("div", { class: "surface" }), open: element("button", { type: "button", onclick: () => setState({ surface: state().surface === "1" ? null : "1" }) }, "3-D surface"),
	};
	parts.titles = Object.fromEntries(Object.entries({ heat: "Each server over time", servers: "By server", time: "By time" }).map(([name, text]) => [name, element("h2", { id: `${name}-title` }, text)]));
	question = questions(parts.status, (e) => {
		const none = !info && e.message.startsWith("no fleet is served");
		if (none) parts.about.replaceChildren(emptyState("This page shows counters of many servers: which server and counter is unusual, since when, and what moved with it. No fleet is loaded yet. Its data is a file that 'whyslow fleet load' wrote, a folder of CSV files, or recordings of many machines.",
			"whyslow serve --fleet ", "", "monday.fleet"));
		return none;
	});
	ruleQuestion = questions(parts.ruleStatus);
	limitQuestion = questions(parts.limitStatus);
	movedQuestion = questions(parts.movedStatus);
	map = new HeatMap(canvas, { onBrush: brushMoments, onServer: (server) => setState({ server: server === state().server ? null : server }),
		onCell: (server, i) => { parts.said.textContent = `${server.name}, ${localTime(Number(map.moment(i) / 1000000n))}: ${cellText(server, i)}`; } });
	let timer = null;
	rule.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => setState({ rule: rule.value.trim() || null, rulefor: null }, true), TYPING); });
	main.replaceChildren(
		element("section", { class: "toolbar", "aria-label": "what is shown" }, element("label", { class: "choice" }, "counter ", parts.counter), parts.whole, parts.range, parts.open, parts.status, parts.about, parts.overview, parts.times),
		element("section", { class: "whole", "aria-labelledby": "ranked-title" }, element("h2", { id: "ranked-title" }, "Most unusual"), parts.summary, element("p", {}, parts.asked, " ", parts.saved), parts.savedStatus, parts.chain, parts.curves, parts.ranked),
		element("section", { class: "whole", "aria-labelledby": "heat-title" }, parts.titles.heat, parts.heat, parts.legend, parts.said,
			element("p", { class: "hint" }, "Drag over a time to choose it (by keyboard: shift + arrows, Enter), Ctrl + wheel to zoom, double-click or 0 for the whole time; click or Enter lights a server.")),
		element("section", { class: "whole", hidden: true, "aria-labelledby": "surface-title" }, element("h2", { id: "surface-title" }, "Surface"), parts.surface),
		element("section", { "aria-labelledby": "servers-title" }, parts.titles.servers, parts.servers),
		element("section", { "aria-labelledby": "time-title" }, parts.titles.time, parts.moments, parts.time),
		element("section", { "aria-labelledby": "scatter-title" }, element("h2", { id: "scatter-title" }, "Against another counter"), element("label", { class: "choice" }, "across ", parts.x), parts.scatter, parts.scatterSaid),
		element("section", { "aria-labelledby": "moved-title" }, parts.movedTitle, element("label", { class: "choice" }, parts.ranks, " by ranks (Spearman) instead of values (Pearson)"), parts.movedStatus, parts.moved),
		element("section", { class: "whole", "aria-labelledby": "rule-title" }, element("h2", { id: "rule-title" }, "A threshold rule"), element("p", {}, parts.makeRule, " ", parts.side, " ", parts.level, " ", parts.lasting, " ", parts.limit), element("label", { for: "rule", class: "hint" }, "as whyslow fleet check reads it; tried at once, as are changes that you type. Click what breaks it to see what moved with it."), parts.rule, parts.ruleStatus, parts.limitStatus, parts.broken));
	redrawn(parts.heat, () => views && draw(state()));
	keys(main, { 0: () => setState({ ffrom: null, fto: null }), Escape: () => setState({ server: null, ffrom: null, fto: null }), s: () => parts.open.click() });
}

const counterOf = (name) => info.counters.find((c) => c.name === name);
const unitOf = (name) => { const c = counterOf(name); return c ? `${c.unit ?? ""}${c.rate ? "/s" : ""}` : ""; };
const formatOf = (name) => (v) => {
	const unit = unitOf(name);
	if (["bytes", "bytes/s", "ns", "ns/s", "count/s"].includes(unit)) return formatValue(v, unit);
	return `${Number(v.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 4 })}${unit && unit !== "count" ? ` ${unit}` : ""}`;
};
let format = (v) => String(v);

// Where a point is made of several moments, from the least to the most of them.
function cellText(server, i) {
	if (server.values[i] === null) return "no value";
	return server.low ? `${format(server.values[i])} on average, ${format(server.low[i])} to ${format(server.high[i])}` : format(server.values[i]);
}

// null, null: the whole time; so is what reaches from its beginning to its end.
function brushMoments(from, to, walk = null) {
	const begin = momentOf(info.start), end = momentOf(info.end);
	const all = from === null || (from <= begin && to >= end);
	setState({ ffrom: all ? null : formatMoment(from < begin ? begin : from), fto: all ? null : formatMoment(to > end ? end : to) }, false, walk);
}
const inNs = (seconds) => seconds && BigInt(Math.round(seconds * 1e3)) * 1000000n;
const brushSeconds = (from, to, walk = null) => brushMoments(inNs(from), inNs(to), walk);
const windowOf = (s) => (parseMoment(s.ffrom) !== null && parseMoment(s.fto) !== null ? { from: `@${s.ffrom}`, to: `@${s.fto}` } : {});

// A detail view as the drawings take it.
function detail(view) {
	let low = Infinity, high = -Infinity;
	for (const s of view.series) for (const v of s.values) if (v !== null) { low = Math.min(low, v); high = Math.max(high, v); }
	return { each: view.each, origin: momentOf(view.start), step: view.step_ns, n: Math.max(0, ...view.series.map((s) => s.values.length)), servers: view.series.map((s) => ({ name: s.server, values: s.values, low: s.low, high: s.high })), low, high };
}

async function loadViews(s, counter) {
	const w = windowOf(s);
	const [d, server, time] = await Promise.all(["detail", "server", "time"].map((by) => ask("fleet/view", { counter, by, points: by === "server" ? null : POINTS, ...w })));
	return { counter, detail: detail(d), servers: server.rows.filter((r) => r.median !== null), time: time.rows.filter((r) => r.median !== null) };
}

const symptomOf = (s) => (s.server ? `${views.counter}@${s.server}` : views.counter);
const chosenKey = (s) => `${s.server ?? ""}|${views?.counter ?? ""}`;
const choose = (f) => setState({ server: columnOf(f), counter: f.counter });

// The button names what it asks about, so that a click on another counter changes it.
function drawAsked(s) {
	parts.asked.textContent = s.symptom ? "Ask about the most unusual counter again" : `Ask why ${views.counter}${s.server ? ` of ${s.server}` : ""} is so`;
	parts.makeRule.textContent = `Make a rule of ${views.counter}${s.server ? ` of ${s.server}` : ""}`;
}

function drawWhy(s) {
	drawRanked(s);
	drawChain(parts.chain, why, { formatOf, chosen: chosenKey(s), onChoose: choose, onRule: startRule });
	if (curvesOf === why) drawCurves(parts.curves, why, curves, { around: aroundWindow(why, info), formatOf, chosen: chosenKey(s), onChoose: choose });
}

// The counters that the chain names, around the window.
async function loadCurves() {
	const of = why, around = aroundWindow(why, info), counters = [...new Set(linksOf(why).map((f) => f.counter))];
	if (curvesOf === of) return;
	const answers = around ? await Promise.all(counters.map((counter) => ask("fleet/view", { counter, by: "detail", points: CURVE_POINTS, ...windowOption(around) }).catch(() => null))) : [];
	if (why !== of) return;
	curves = new Map(counters.map((counter, i) => [counter, answers[i] && detail(answers[i])]).filter(([, view]) => view));
	curvesOf = of;
	drawWhy(state());
}

// Another answer, to another question.
function showWhy(answer) {
	why = answer;
	drawWhy(state());
	loadCurves();
	if (state().rulefor) makeRule(state());
}

async function saveReport() {
	const name = "whyslow-fleet.html", s = state();
	parts.savedStatus.textContent = await save("fleet/why.html", { symptom: s.symptom, ...windowOf(s) }, name).then(() => `saved as ${name}`, (e) => e.message);
}

function drawRanked(s) {
	parts.summary.textContent = why.summary.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (t) => localTime(t));
	if (!why.unusual) return parts.ranked.replaceChildren();
	const rows = why.unusual.findings.map((f) => ({ key: keyOf(f), cells: [oddBar(f.score / Math.max(1, why.unusual.findings[0].score)), f.server ?? "all", f.counter ?? "", formatOf(f.counter)(f.observed), f.usual === null ? "" : formatOf(f.counter)(f.usual), f.since ? localTime(f.since) : "", f.flags.filter((x) => x !== "peers").join(", ").replaceAll("_", " ")] }));
	const servers = why.servers.findings.filter((f) => f.q !== null && f.q <= 0.05).map((f) => f.server);
	const columns = [{ title: "anomaly" }, { title: "server" }, { title: "counter", class: "name" }, { title: "is", class: "number" }, { title: "normal", class: "number" }, { title: "since", class: "wide" }, { title: "", class: "wide" }];
	if (!rows.length) parts.ranked.replaceChildren(element("p", { class: "hint" }, "Nothing is unusual there."));
	else replaceContents(parts.ranked, choosableTable({ label: `counters by how unusual they are${servers.length ? `; conspicuous: ${servers.join(", ")}` : ""}`, columns, rows, chosen: chosenKey(s),
		onChoose: (key, walk) => setState(unKey(key), false, walk) }));
}

function drawLegend(d) {
	const bar = element("span", { class: "ramp", "aria-hidden": "true" });
	for (let i = 0; i < 24; i++) {
		const cell = element("span");
		cell.style.background = heatCss(i / 23);
		bar.append(cell);
	}
	parts.legend.replaceChildren(format(d.low), bar, format(d.high), d.each > 1 ? element("span", {}, `each point is the mean of ${d.each} moments; choose a shorter time for all of them`) : "",
		 ...(d.broken?.size ? [element("span", { class: "broken-key" }, "breaks the rule")] : []));
}

// Which values break the rule: findings of single servers at single moments.
function brokenCells(d) {
	const out = new Set();
	for (const f of checked?.findings ?? []) if (f.server && f.time && f.counter === views.counter) out.add(`${f.server}|${Math[d.each > 1 ? "floor" : "round"](Number(momentOf(f.time) - d.origin) / d.step)}`);
	return out;
}

// The chosen server's values by the moment, in s, as the bands have them.
function chosenLine(d, name) {
	const server = d.servers.find((x) => x.name === name);
	return server ? { name, at: (t) => server.values[Math.round((t * 1e9 - Number(d.origin)) / d.step)] ?? null } : null;
}

// What a point of the scatter is.
function tellPoint(p) {
	parts.scatterSaid.textContent = p ? `${p.server}, ${localTime(Number(views.detail.origin + BigInt(Math.round(p.index * views.detail.step))) / 1e6)}: ${other.counter} ${formatOf(other.counter)(p.a)}, ${views.counter} ${format(p.b)}`
		: "Each point is a server at a moment; point at one to read it, click to light its server.";
}

function draw(s) {
	format = formatOf(views.counter);
	const d = { ...views.detail, broken: brokenCells(views.detail) }, line = chosenLine(d, s.server);
	parts.titles.heat.textContent = `${views.counter} of each server over time`;
	parts.titles.servers.textContent = `${views.counter} by server`;
	parts.titles.time.textContent = `${views.counter} by time: ${s.moments ? "mean, its deviation, minimum and maximum" : "median, half and nine tenths"} of all servers`;
	parts.moments.show(s);
	map.show(d, s.server);
	parts.canvas.setAttribute("aria-label", `${views.counter}: ${d.servers.length} servers over ${d.n} moments, ${format(d.low)} to ${format(d.high)}`);
	drawLegend(d);
	drawServers(parts.servers, views.servers, { chosen: s.server, format, onChoose: (server) => setState({ server: server === s.server ? null : server }) });
	drawBands(parts.time, views.time, { line, format, height: 240, onBrush: brushSeconds, moments: s.moments === "1" });
	if (overview) drawBands(parts.overview, overview.rows, { format: formatOf(overview.counter), height: 72, onBrush: brushSeconds, brushed: s.ffrom ? [Number(s.ffrom), Number(s.fto)] : null });
	if (other) {
		points = drawScatter(parts.scatterCanvas, other.detail, views.detail, { chosen: s.server, formatA: formatOf(other.counter), formatB: format, nameA: `${other.counter} →`, nameB: `↑ ${views.counter}` });
		parts.scatterCanvas.setAttribute("aria-label", `${views.counter} against ${other.counter}: ${points.n} points`);
		tellPoint(null);
	}
	drawAsked(s);
	if (why) drawWhy(s);
	parts.range.textContent = s.ffrom ? `${localTime(Number(s.ffrom) * 1000)} to ${localTime(Number(s.fto) * 1000)}` : "";
	setIdle(parts.whole, !s.ffrom);
	drawSurface(s, d);
}

async function drawSurface(s, d) {
	const section = parts.surface.parentElement, open = s.surface === "1";
	parts.open.setAttribute("aria-pressed", String(open));
	section.hidden = !open;
	if (!open) {
		surface?.end();
		surface = null;
		return;
	}
	try {
		const { Surface } = await import("./surface.js");
		surface ??= new Surface(parts.surface, s.turn, (turn) => setState({ turn }, true));
		surface.lookFrom(state().turn);
		surface.show(d, { format, counter: views.counter, chosen: s.server });
	} catch (e) {
		parts.surface.replaceChildren(element("p", { class: "error-text" }, `no 3-D drawing here: ${e.message}`));
	}
}

function drawBroken() {
	if (!checked) return parts.broken.replaceChildren();
	const n = checked.total + checked.left_out;
	parts.ruleStatus.textContent = n ? `${n.toLocaleString("en")} ${n === 1 ? "violation" : "violations"} in ${checked.looked_at.toLocaleString("en")} values or groups` : `none of ${checked.looked_at.toLocaleString("en")} values or groups breaks it`;
	if (!checked.findings.length) return parts.broken.replaceChildren();
	const rows = checked.findings.slice(0, 50).map((f, i) => ({ key: String(i), cells: [f.server ?? "all", f.time ? localTime(f.time) : "", f.counter ? formatOf(f.counter)(f.observed) : "", f.counter ?? ""] }));
	replaceContents(parts.broken, choosableTable({ label: "what breaks the rule", columns: [{ title: "server" }, { title: "when" }, { title: "is", class: "number" }, { title: "counter", class: "name" }], rows, chosen: null, follows: false,
		onChoose: (i) => askWhatMoved(checked.findings[i]) }));
}

// From what breaks a rule to its correlations: with which counters it moved, of this server and of the others.
function askWhatMoved(f) {
	setState({ server: f.server, counter: f.counter ?? state().counter });
	parts.movedTitle.scrollIntoView({ block: "nearest" });
}

// A rule of what was clicked: from its baseline, by the choices next to it. It stands in the address as text, too.
const startRule = (f) => {
	setState({ rulefor: keyOf(f) });
	parts.rule.scrollIntoView({ block: "nearest" });
};

async function makeRule(s) {
	const { server, counter } = unKey(s.rulefor), of = why, span = baselineOf(why, info);
	if (limits?.counter !== counter || limits.why !== of) {
		const answer = await limitQuestion(() => ask("fleet/view", { counter, by: "server", ...windowOption(span) }), "reading the baseline ...");
		if (!answer) return;
		limits = { counter, why: of, rows: answer.rows };
	}
	const limit = limitOf(limits.rows, server, s.rside), whose = `${counter}${server ? ` of ${server}` : ""}`;
	if (state().rulefor !== s.rulefor) return;
	parts.limit.textContent = limit === null ? `${whose} has no value in the baseline.` : `${whose}: ${s.rside === "below" ? "p5" : "p95"} ${formatOf(counter)(limit)} ${span ? "outside of the incident" : "in all of the data"}`;
	if (limit !== null) setState({ rule: ruleText(counter, limit, { side: s.rside, beyond: Number(s.rlevel ?? 0), rows: Number(s.rfor ?? 0), interval: info.interval_ns }) }, true);
}

async function check(s) {
	if (document.activeElement !== parts.rule) parts.rule.value = s.rule ?? "";
	if (!s.rule) {
		checked = null;
		parts.ruleStatus.textContent = "";
		drawBroken();
		return views && draw(state());
	}
	const answer = await ruleQuestion(() => ask("fleet/check", { rule: s.rule, top: 500, ...windowOf(s) }), "counting ...");
	if (!answer) return;
	checked = answer;
	drawBroken();
	if (views) draw(state());
}

// The counters with |r| >= 0.9; one that is chosen is drawn against the counter that is shown.
function drawMoved(s) {
	const rows = moved.findings.map((f) => ({ key: `${f.server}|${f.counter}`, cells: [f.r.toFixed(2), f.server, f.counter] }));
	if (!rows.length) return parts.moved.replaceChildren(element("p", { class: "hint" }, "Nothing moved with it (|r| of 0.9 or more)."));
	replaceContents(parts.moved, choosableTable({ label: "counters that moved with it", columns: [{ title: "r", class: "number" }, { title: "server" }, { title: "counter", class: "name" }], rows, chosen: null, follows: false,
		onChoose: (key) => setState({ against: key.slice(key.indexOf("|") + 1) }) }));
}

// The unusual times of all of the data: each chooses its time, server and counter.
async function listTimes() {
	if (historyAsked) return;
	historyAsked = true;
	const answer = await ask("fleet/history", { top: 6 }).catch(() => null);
	if (!answer?.episodes.length) return;
	const times = (e) => ({ ffrom: formatMoment(momentOf(e.from)), fto: formatMoment(momentOf(e.to)), server: e.server, counter: e.counter });
	parts.times.replaceChildren(element("h3", {}, "Unusual times"), element("ul", {}, ...answer.episodes.map((e) => element("li", {}, link(times(e), localTime(e.from)), `: ${e.counter} of ${e.server} ${formatOf(e.counter)(e.value)}, normally ${formatOf(e.counter)(e.normal)}${e.also_total ? `; ${e.also_total} more at that time` : ""}`))));
}

async function correlate(s, counter) {
	const symptom = s.server ? `${counter}@${s.server}` : counter, asked = `${symptom} ${s.ranks} ${s.ffrom} ${s.fto}`;
	parts.ranks.checked = s.ranks === "1";
	if (asked === movedFor) return;
	movedFor = asked;
	parts.movedTitle.textContent = `What moved with ${counter}${s.server ? ` of ${s.server}` : ""}`;
	const answer = await movedQuestion(() => ask("fleet/correlate", { symptom, spearman: s.ranks === "1" ? "1" : null, top: 50, ...windowOf(s) }), "correlating ...");
	if (!answer) return;
	moved = answer;
	drawMoved(s);
}

export async function show(main, s, changed) {
	if (!parts) build(main);
	showsNothing(main, !views);
	if (!info) {
		const answer = await question(() => Promise.all([ask("fleet/info"), ask("fleet/why", { symptom: s.symptom, ...windowOf(s) })]), "reading the fleet ...");
		if (!answer) return;
		[info, why] = answer;
		for (const option of parts.lasting.querySelectorAll("option")) if (option.value !== "0") option.textContent = spanText(Number(option.value) * info.interval_ns);
		for (const select of [parts.counter, parts.x]) select.replaceChildren(...info.counters.map((c) => element("option", { value: c.name }, c.name)));
		parts.about.textContent = `${info.servers.length} servers, ${info.counters.length} counters, ${info.points.toLocaleString("en")} moments from ${localTime(info.start)} to ${localTime(info.end)}`;
	} else if (changed("ffrom", "fto", "symptom")) {
		const asked = question(() => ask("fleet/why", { symptom: s.symptom, ...windowOf(s) })).then((answer) => { if (answer) showWhy(answer); return answer; });
		if (!counterOf(s.counter) && !await asked) return; // its symptom is the counter that is shown
	}
	const counter = counterOf(s.counter)?.name ?? why.symptom ?? info.counters[0].name;
	const against = counterOf(s.against)?.name ?? info.counters.find((c) => c.name !== counter)?.name ?? counter;
	parts.counter.value = counter;
	parts.x.value = against;
	if (views?.counter !== counter || changed("ffrom", "fto")) {
		const [v, o] = await Promise.all([loadViews(s, counter), ask("fleet/view", { counter, by: "time", points: POINTS })]).catch((e) => { parts.status.textContent = e.message; parts.status.classList.add("error"); return [null, null]; });
		if (!v) return;
		views = v;
		overview = { counter, rows: o.rows.filter((r) => r.median !== null) };
		other = null;
	}
	showsNothing(main, false);
	draw(state());
	if (other?.counter !== against) {
		try {
			other = { counter: against, detail: detail(await ask("fleet/view", { counter: against, by: "detail", points: POINTS, ...windowOf(s) })) };
			draw(state());
		} catch (e) {
			parts.status.textContent = e.message;
		}
	}
	loadCurves();
	for (const part of [parts.side, parts.level, parts.lasting]) part.show(s);
	if (!s.rulefor) parts.limit.textContent = "";
	else if (changed("rulefor", "rside", "rlevel", "rfor")) makeRule(state());
	if (changed("rule", "ffrom", "fto")) check(state());
	correlate(state(), counter);
	listTimes();
}
