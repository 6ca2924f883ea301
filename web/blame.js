// Blame: who made whom wait, as a matrix and as a flow by resource (whyslow.blame/1).
import { ask } from "./api.js";
import { element, loadStyle } from "./dom.js";
import { drawMatrix } from "./matrix.js";
import { check, choice, eventsChoice, freezeAnew, keys, link, questions, rangeChoice, redrawn, showsNothing, statusLine, windowText } from "./pane.js";
import { drawFlow } from "./sankey.js";
import { eventQuestion } from "./selection.js";
import { setState, state } from "./state.js";
import { formatSpan } from "./axis.js";

const TOP = "16";
const WAITS = { cpu: "a CPU", quota: "its CPU quota", lock: "a lock", disk: "a disk", fault: "a page from a disk", memory: "memory", interrupt: "interrupts",
	other: "the kernel", reader: "a reader", peer: "others' data", network: "the network", condition: "a condition", child: "a child", unclear: "something unclear" };

// Fields by which waits are put in groups.
const FIELDS = [["program", "program"], ["process", "process"], ["thread", "thread"], ["cgroup", "control group"], ["wait", "state"], ["reason", "reason"],
	["lock", "lock"], ["stack", "stack"], ["waker", "waker"], ["waker-stack", "waker's stack"]];
const GROUPS_SHOWN = "50";

let parts = null, question = null, pivotQuestion = null, blame = null;

function build(main) {
	loadStyle("/panes.css");
	parts = {
		events: eventsChoice(), freeze: freezeAnew(), range: rangeChoice(), status: statusLine(), about: element("p", { class: "hint" }), chosen: element("p", { class: "chosen", "aria-live": "polite" }),
		by: choice("by", "by", [["process", "process"], ["thread", "thread"], ["program", "program"], ["cgroup", "control group"]]),
		top: choice("top", "show", [[TOP, TOP], ["8", "8"], ["32", "32"], ["64", "64"]]),
		wait: choice("wait", "waiting for", [["", "everything"], ...Object.entries(WAITS)]),
		all: check("all", "also others' work", "also waits for others' work: pipes, sockets, conditions, children"),
		groups: choice("groups", "groups by", FIELDS), then: choice("then", "and by", [["", "nothing else"], ...FIELDS]),
		pivot: element("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "waits in groups" }), pivotStatus: statusLine(),
		matrix: element("div", { class: "scroll matrix" }), flow: element("div", { class: "flow" }),
	};
	question = questions(parts.status, () => {
		blame = null;
		showsNothing(main, true);
		parts.about.replaceChildren();
	});
	main.replaceChildren(
		element("section", { class: "toolbar", "aria-label": "what is shown" }, parts.events, parts.freeze, parts.range, parts.by, parts.wait, parts.top, parts.all, parts.status, parts.about),
		element("section", { class: "whole", "aria-labelledby": "matrix-title" }, element("h2", { id: "matrix-title" }, "Who waited because of whom"), parts.chosen, parts.matrix,
			element("p", { class: "hint" }, element("span", { class: "wide" }, "Rows waited because of columns; a name sorts by it. "), "Arrows move, Enter chooses. The stronger the color, the longer.")),
		element("section", { class: "whole", "aria-labelledby": "flow-title" }, element("h2", { id: "flow-title" }, "From culprits by what was waited for to victims"), parts.flow));
	main.append(element("section", { class: "whole", "aria-labelledby": "pivot-title" }, element("h2", { id: "pivot-title" }, "Waits in groups"),
		element("div", { class: "toolbar" }, parts.groups, parts.then, parts.pivotStatus), parts.pivot));
	pivotQuestion = questions(parts.pivotStatus, () => parts.pivot.replaceChildren());
	redrawn(parts.flow, () => blame && draw(state()));
	keys(main, { Escape: () => setState({ cell: null, wait: null, sort: null }) });
}

const flowOptions = (s) => ({ wait: s.wait || null, chosen: s.flow || null, names: WAITS, onWait: (wait) => setState({ wait: wait === s.wait ? null : wait }), onChoose: (flow) => setState({ flow: flow === s.flow ? null : flow }) });

// "guilty (4215) was in the way of bystander (4210) for 1.2 s: a CPU 1.2 s in 30 parts, the longest 3 ms."
function tellCell(s) {
	const [v, c] = (s.cell || "").split(",").map(Number);
	const cells = s.cell ? blame.cells.filter((x) => x.victim === v && x.culprit === c && (!s.wait || x.wait === s.wait)) : [];
	parts.chosen.replaceChildren();
	if (!cells.length) return;
	const victim = blame.victims[v], culprit = blame.culprits[c];
	const sum = cells.reduce((n, x) => n + x.ns, 0);
	const waits = cells.map((x) => `${formatSpan(x.ns)} for ${WAITS[x.wait]} in ${x.parts} ${x.parts === 1 ? "part" : "parts"}, the longest ${formatSpan(x.longest_ns)}${x.modelled ? " (shared out by a model)" : ""}${x.inferred ? " (inferred from wake-ups)" : ""}`).join("; ");
	parts.chosen.append(element("strong", {}, `${victim?.text ?? "others"} waited ${formatSpan(sum)} because of ${culprit?.text ?? "others"}: `), waits, ". ");
	if (culprit?.who?.pid) parts.chosen.append(link({ view: "flame", who: String(culprit.who.pid), cell: null }, `what ${culprit.text} did`), " ");
	if (victim?.who?.pid) parts.chosen.append(link({ view: "flame", who: String(victim.who.pid), kind: "waits", cell: null }, `where ${victim.text} waited`), " ");
	if (victim?.who?.pid) parts.chosen.append(link({ view: "timeline", pid: String(victim.who.pid), cell: null }, "timeline"));
}

function draw(s) {
	const w = blame.window;
	parts.about.textContent = `${windowText(w)}.${w.no_waker ? ` ${w.no_waker} waits ended by a thread that was not seen.` : ""}`;
	drawMatrix(parts.matrix, blame, { wait: s.wait || null, sort: s.sort || null, cell: s.cell || null, onSort: (sort) => setState({ sort: sort === s.sort ? null : sort }), onCell: (cell) => setState({ cell }) });
	drawFlow(parts.flow, blame, flowOptions(s));
	tellCell(s);
}

function drawPivot(answer) {
	const names = Object.fromEntries(FIELDS), cells = (g) => [formatSpan(g.ns), `${(100 * g.ns / Math.max(1, answer.ns)).toFixed(0)} %`, g.count.toLocaleString("en"), formatSpan(g.median_ns), formatSpan(g.maximum_ns)];
	const head = ["sum", "share", "count", "median", "maximum"], more = answer.n_groups - answer.groups.length;
	parts.pivot.replaceChildren(
		element("table", { class: "pivot" },
			element("thead", {}, element("tr", {}, ...head.map((h) => element("th", { class: "number", scope: "col" }, h)), ...answer.by.map((b) => element("th", { scope: "col" }, names[b])))),
			element("tbody", {}, ...answer.groups.map((g) => element("tr", {}, ...cells(g).map((c) => element("td", { class: "number" }, c)), ...g.values.map((v) => element("td", {}, v)))))),
		element("p", { class: "hint" }, `${answer.count.toLocaleString("en")} waits in ${answer.n_groups.toLocaleString("en")} groups${more ? `; the ${GROUPS_SHOWN} longest are shown` : ""}.`));
}

async function showPivot(s) {
	const groups = s.groups || "program", by = s.then && s.then !== groups ? `${groups},${s.then}` : groups;
	const answer = await pivotQuestion(() => ask("pivot", { ...eventQuestion(s), by, top: GROUPS_SHOWN, all: s.all }), "grouping the waits ...");
	if (answer) drawPivot(answer);
}

export async function show(main, s, changed) {
	if (!parts) build(main);
	showsNothing(main, !blame);
	for (const p of [parts.freeze, parts.range, parts.by, parts.top, parts.wait, parts.all, parts.groups, parts.then]) p.show(s);
	if (changed("mark", "view")) parts.events.show();
	if (!blame || changed("mark", "freeze", "from", "to", "by", "top", "all")) {
		const answer = await question(() => ask("blame", { ...eventQuestion(s), by: s.by, top: s.top || TOP, all: s.all }), s.mark ? "reading the events ..." : "freezing the events ...");
		if (!answer) return;
		blame = answer;
	}
	showsNothing(main, false);
	draw(state());
	if (!parts.pivot.firstChild || changed("mark", "freeze", "from", "to", "all", "groups", "then")) await showPivot(state());
}
