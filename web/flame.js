// The flame graph pane: where time went, by stacks (whyslow.flame/1; trees of whyslow.inspect/1).
import { ask } from "./api.js";
import { formatSpan, formatMoment } from "./axis.js";
import { choosableTable, element, loadStyle, replaceContents, setIdle } from "./dom.js";
import { FlameGraph, weight } from "./flamegraph.js";
import { localTime } from "./format.js";
import { choice, eventsChoice, field, freezeAnew, keys, questions, rangeChoice, redrawn, showsNothing, statusLine, windowText } from "./pane.js";
import { chosenRange, eventQuestion } from "./selection.js";
import { setState, state } from "./state.js";

let parts = null, question = null, graph = null, flame = null, captures = null, capturesOf = null;

// Profiles that the recorder keeps by the minute, in place of events.
const isKept = (s) => s.kind === "kept" || s.kind === "keptwaits";

const pathOf = (s) => (s.frame ? s.frame.split(";") : []);

function build(main) {
	loadStyle("/panes.css");
	const canvas = element("canvas", { tabindex: 0, role: "application", "aria-roledescription": "flame graph", "aria-describedby": "flame-said" });
	parts = {
		canvas, events: eventsChoice(), freeze: freezeAnew(), range: rangeChoice(), status: statusLine(), about: element("p", { class: "hint" }),
		kind: choice("kind", "", [["cpu", "on CPU"], ["waits", "off CPU (wall time)"], ["kept", "kept for days: on CPU"], ["keptwaits", "kept for days: off CPU, with who woke"]]),
		who: field("who", "process or thread", { width: 7, placeholder: "all" }),
		base: eventsChoice("base", ["", "nothing"], "compare with"),
		at: field("at", "kept at", { placeholder: "the last hour" }), against: field("against", "compared with", { placeholder: "yesterday" }),
		search: field("search", "search", { width: 14, type: "search", live: true }),
		said: element("p", { id: "flame-said", class: "said", "aria-live": "polite" }),
		list: element("div", { class: "scroll" }), seen: element("div", { class: "flame-holder" }, canvas),
		out: element("button", { type: "button", onclick: () => setState({ frame: null }) }, "whole"),
	};
	parts.kind.querySelector("select").setAttribute("aria-label", "which stacks");
	question = questions(parts.status, () => {
		flame = null;
		showsNothing(main, true);
		parts.about.replaceChildren();
	});
	graph = new FlameGraph(canvas, { onZoom: (path) => setState({ frame: path.join(";") || null }), onSelect: tell });
	main.replaceChildren(
		element("section", { class: "toolbar", "aria-label": "what is shown" }, parts.events, parts.freeze, parts.range, parts.kind, parts.who, parts.base, parts.at, parts.against, parts.search, parts.out, parts.status, parts.about),
		element("section", { class: "whole", "aria-labelledby": "flame-title" }, element("h2", { id: "flame-title" }, "Stacks"), parts.said, parts.seen,
			element("p", { class: "hint" }, "Click or Enter zooms in, Escape or 0 out; in the graph arrows go to the caller, what it called and its siblings; / searches.")),
		element("section", { class: "whole", "aria-labelledby": "frame-title" }, element("h2", { id: "frame-title" }, "What it called"), parts.list));
	redrawn(parts.seen, () => { if (flame) draw(state()); });
	keys(main, { Escape: () => setState({ frame: null }), 0: () => setState({ frame: null }) });
}

const amount = (n) => (flame.unit === "ns" ? formatSpan(n) : `${n.toLocaleString("en")} ${flame.unit}`);
const change = (n) => (n.total === n.base ? "±0" : `${n.total > n.base ? "+" : "-"}${amount(Math.abs(n.total - n.base))}`);
const percent = (n, whole) => `${(100 * n / whole).toFixed(n / whole < 0.1 ? 1 : 0)} %`;

function words(n, whole) {
	const base = n.base === undefined ? "" : `; in the other window ${amount(n.base)} (${change(n)})`;
	return `${n.name ?? "all"}: ${amount(n.total)}, ${percent(n.total, whole)} of all${n.self ? `, ${amount(n.self)} in itself` : ""}${base}`;
}

function tell(n) {
	if (n && flame?.tree) parts.said.textContent = words(n, Math.max(1, flame.tree.total || weight(flame.tree)));
}

// How much of the whole what is searched for stands for: found frames that are below no other found one.
function found(n, text) {
	if (n.name?.toLowerCase().includes(text)) return n.total;
	return n.children.reduce((sum, c) => sum + found(c, text), 0);
}

function drawList(node, path) {
	const whole = Math.max(1, flame.tree.total || weight(flame.tree)), compared = flame.tree.base !== undefined;
	const order = compared ? [...node.children].sort((a, b) => Math.abs(b.total - b.base) - Math.abs(a.total - a.base)) : node.children;
	const rows = order.slice(0, 200).map((c) => ({ key: c.name, cells: [c.name, amount(c.total), percent(c.total, whole), c.self ? amount(c.self) : "",
		...(compared ? [amount(c.base), change(c)] : [])] }));
	const columns = [{ title: "function", class: "name" }, { title: "time", class: "number" }, { title: "of all", class: "number" }, { title: "in itself", class: "number wide" },
		...(compared ? [{ title: "there", class: "number" }, { title: "change", class: "number" }] : [])];
	if (!rows.length) replaceContents(parts.list, element("p", { class: "hint" }, "nothing: the stack ends here"));
	else replaceContents(parts.list, choosableTable({ label: "what it called", columns, rows, chosen: null, follows: false, onChoose: (name) => setState({ frame: [...path, name].join(";") }) }));
}

function draw(s) {
	const path = pathOf(s);
	if (!flame.tree) {
		graph.show(null, {});
		parts.said.textContent = flame.kind === "cpu" ? "No samples were taken then: they are only while the machine is busy." : "No thread waited.";
		parts.list.replaceChildren();
		return;
	}
	graph.show(flame.tree, { kind: flame.kind, zoom: path, search: s.search });
	const nodes = graph.nodesOf(path), whole = Math.max(1, flame.tree.total);
	parts.canvas.setAttribute("aria-label", `flame graph, ${amount(flame.tree.total)} in all; the table below lists the same`);
	tell(nodes.at(-1));
	if (s.search) parts.said.textContent = `“${s.search}” is in ${percent(found(flame.tree, s.search.toLowerCase()), whole)} of ${amount(flame.tree.total)}. ${parts.said.textContent}`;
	drawList(nodes.at(-1), nodes.slice(1).map((n) => n.name));
	setIdle(parts.out, !path.length);
}

// What lies next to: a mark's events, or what was before the range that is chosen.
function baseQuestion(s) {
	const range = chosenRange(s);
	if (s.base === "before" && range) return { base_mark: s.mark, base_until: `@${formatMoment(range.from)}` };
	return /^\d+$/.test(s.base || "") ? { base_mark: s.base } : {};
}

const keptText = (f) => `${localTime(f.window.start)} to ${localTime(f.window.end)}${f.base ? `; compared with ${localTime(f.base.start)} to ${localTime(f.base.end)}, scaled to the same length: red is more than there, blue is less` : ""}`;

async function loadCaptures(s) {
	const select = parts.kind.querySelector("select");
	if (capturesOf === (s.mark ?? null)) return;
	capturesOf = s.mark ?? null;
	captures = [];
	for (const o of [...select.options].filter((x) => x.value.startsWith("capture"))) o.remove();
	if (!s.mark) return;
	try {
		captures = (await ask("captures", { id: s.mark })).captures;
	} catch { /* none were kept */ }
	captures.forEach((c, i) => {
		select.append(element("option", { value: `capture${i}` }, `inspected ${c.summary.slice(0, 40)}: on CPU`));
		if (c.waits) select.append(element("option", { value: `capture${i}w` }, `inspected ${c.summary.slice(0, 40)}: waiting`));
	});
	parts.kind.show(state());
}

async function load(s) {
	const m = /^capture(\d+)(w?)$/.exec(s.kind || "");
	if (m) {
		await loadCaptures(s);
		const c = captures[m[1]];
		return c ? { tree: m[2] ? c.waits : c.top_down, kind: m[2] ? "waits" : "cpu", unit: m[2] ? "looks" : "samples", about: c.summary } : { tree: null, kind: "cpu", unit: "samples", about: "" };
	}
	if (isKept(s)) return { ...await ask("profile", { at: s.at, against: s.against, waits: s.kind === "keptwaits" ? "1" : null, program: s.who }), kept: true };
	return ask("flame", { ...eventQuestion(s), ...baseQuestion(s), waits: s.kind === "waits" ? "1" : null, who: s.who });
}

export async function show(main, s, changed) {
	if (!parts) build(main);
	showsNothing(main, !flame);
	for (const p of [parts.freeze, parts.range, parts.kind, parts.who, parts.at, parts.against, parts.search]) p.show(s);
	parts.at.hidden = parts.against.hidden = !isKept(s);
	if (changed("mark", "view")) {
		parts.events.show();
		parts.base.show().then(() => { if (chosenRange(s)) parts.base.extra("before", "what was before the range"); });
		loadCaptures(s);
	} else if (changed("base")) {
		parts.base.show();
	}
	if (!flame || changed("mark", "freeze", "from", "to", "kind", "who", "base", "at", "against")) {
		const answer = await question(() => load(s), s.mark ? "reading the events ..." : "freezing the events ...");
		if (!answer) return;
		flame = answer;
	}
	parts.about.textContent = flame.about ?? (flame.kept ? keptText(flame) : null) ?? `${windowText(flame.window)}${flame.base ? `; compared with ${(flame.base.ns / 1e9).toFixed(1)} s until ${localTime(flame.base.end)}, scaled to the same length: red is more than there, blue is less` : ""}`;
	showsNothing(main, false);
	draw(state());
}
