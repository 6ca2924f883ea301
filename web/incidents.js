// Incidents: moments that were marked, and those that rules found; each with its answer, its note, similar ones, ways into
// the other panes, and another one next to it.
import { ask, tell } from "./api.js";
import { phases } from "./captures.js";
import { confirmButton } from "./confirm.js";
import { choosableTable, element, loadStyle, replaceContents, waiting } from "./dom.js";
import { formatValue, localTime } from "./format.js";
import { drawHistory } from "./history.js";
import { field, keys, link, markText, questions, showsNothing, statusLine } from "./pane.js";
import { setState, state } from "./state.js";
import { verdictParts } from "./verdict.js";

let parts = null, question = null, marks = [];

function build(main) {
	loadStyle("/panes.css");
	parts = { status: statusLine(), list: element("div", { id: "incident-list", class: "scroll tall" }), history: element("section", { id: "history", class: "list", "aria-label": "unusual times" }), filter: field("find", "", { width: 12, type: "search", live: true, placeholder: "filter" }),
		one: element("section", { id: "incident", "aria-label": "the answer" }), other: element("section", { id: "other", "aria-label": "the other answer" }) };
	parts.filter.input.setAttribute("aria-label", "list only incidents with these letters");
	question = questions(parts.status);
	main.replaceChildren(
		element("section", { class: "list", "aria-labelledby": "incidents-title" }, element("div", { class: "head" }, element("h2", { id: "incidents-title" }, "Incidents"), parts.filter), parts.status, parts.list,
			element("p", { class: "hint" }, "Marked by a user, or found by a rule. Choose one; “compare with” shows another one next to it."), parts.history),
		element("div", { class: "pair" }, parts.one, parts.other));
	keys(main, { Escape: () => setState({ with: null }) });
	drawHistory(parts.history);
}

const passes = (m, filter) => !filter || `${m.id} ${m.kind} ${m.note ?? ""} ${localTime(m.at)} ${m.feedback ?? ""}`.toLowerCase().includes(filter.toLowerCase());

function drawIncidents(holder, list, { chosen, other, filter, onChoose }) {
	const rows = [...list].reverse().filter((m) => passes(m, filter)).map((m) => ({ key: String(m.id), kind: String(m.id) === other ? "other" : null, titles: [null, null, null, m.note],
		cells: [String(m.id), localTime(m.at), m.source === "rule" ? (m.ongoing ? "rule, ongoing" : "rule") : m.presses > 1 ? `marked ${m.presses} times` : "mark", m.note || "", m.feedback || ""] }));
	if (!rows.length) {
		holder.replaceChildren(element("p", {}, list.length ? "None has these letters." : "No incidents yet: choose “It is slow now” when it is slow."));
		return;
	}
	const columns = [{ title: "", class: "number" }, { title: "when" }, { title: "kind", class: "wide" }, { title: "note", class: "note" }, ...(list.some((m) => m.feedback) ? [{ title: "answer was", class: "wide" }] : [])];
	replaceContents(holder, choosableTable({ label: "incidents", columns, rows, chosen, onChoose }));
}

const usualText = (f) => (f.usual === null ? "" : f.new ? ", was not running before" : `, normally ${formatValue(f.usual, f.unit)} ± ${formatValue(f.spread, f.unit)}`);
const featureLine = (f, server) => element("li", {}, `${f.name}${f.of_server ? ` of ${server}` : ""}: ${formatValue(f.value, f.unit)}${usualText(f)}${f.left_only_value ? " (was constant until now)" : f.highest ? " (highest in the window)" : ""} `,
	f.spark.trim().length > 1 ? element("span", { class: "spark", "aria-hidden": "true" }, f.spark.trim()) : "", f.since ? ` since ${localTime(f.since, false)}` : "");

function drawAnswer(holder, answer, onProcess) {
	const culprits = answer.culprits.filter((c) => c.matters).slice(0, 5).map((c) => element("li", {},
		element("button", { type: "button", class: "who", onclick: () => onProcess(c) }, c.members > 1 ? `${c.label}, ${c.members} processes` : c.pid ? `${c.label}, pid ${c.pid}` : c.label),
		c.share === null ? "" : ` ${Math.round(100 * c.share)} % of what all used`,
		element("ul", { class: "features" }, ...c.features.slice(0, 4).map((f) => featureLine(f, c.server)), ...c.evidence.map((text) => element("li", {}, text))), c.pid && !["kernel", "limit", "host"].includes(c.kind) ? confirmButton(c, answer.bottleneck) : ""));
	const victims = answer.victims.slice(0, 5).map((v) => element("li", {}, v.pid ? `${v.label}, pid ${v.pid}` : v.label, element("ul", { class: "features" }, ...v.features.slice(0, 2).map((f) => featureLine(f, v.server)))));
	holder.replaceChildren(element("div", { class: "answer" },
		...verdictParts(answer),
		...answer.remarks.map((r) => element("p", { class: "hint" }, r)),
		element("h3", {}, answer.slow ? "Suspects" : "Most unusual"), culprits.length ? element("ol", {}, ...culprits) : element("p", {}, "none"),
		victims.length ? element("h3", {}, "Affected programs") : "", victims.length ? element("ul", {}, ...victims) : ""));
}

function similarList(answer) {
	if (!answer.similar.length) return [];
	return [element("h3", {}, "Similar ones"), element("ul", { class: "similar" }, ...answer.similar.map((x) => element("li", {},
		link({ mark: String(x.id), with: null }, `${x.id}, ${localTime(x.at)}`), `, ${Math.round(100 * x.similarity)} % similar${x.what ? `: ${x.what}` : ""}${x.note ? ` “${x.note}”` : ""}${x.feedback ? ` (the answer was ${x.feedback})` : ""} `,
		link({ with: String(x.id) }, "compare"))))];
}

async function change(path, body, done) {
	try {
		await tell(path, body);
		marks = (await ask("marks")).marks;
		done();
	} catch (e) {
		parts.status.textContent = e.message;
		parts.status.classList.add("error");
	}
}

function noteForm(m) {
	const input = element("input", { type: "text", maxlength: 200, value: m.note ?? "", "aria-label": `note of ${m.kind} ${m.id}`, placeholder: "note" });
	return element("form", { class: "note-form", onsubmit: (e) => { e.preventDefault(); change("notes", { id: m.id, note: input.value.trim() }, () => { drawList(state()); parts.status.textContent = `note of ${m.id} saved`; }); } },
		input, element("button", { type: "submit" }, "keep note"));
}

function feedback(m) {
	return element("span", { class: "feedback", role: "group", "aria-label": "was the answer right?" }, "The answer was ", ...["right", "wrong", "fixed"].map((word) =>
		element("button", { type: "button", "aria-pressed": m.feedback === word, "data-key": word, onclick: (e) => change("feedback", { id: m.id, feedback: word }, () => {
			for (const b of e.target.parentElement.querySelectorAll("button")) b.setAttribute("aria-pressed", String(b === e.target));
			drawList(state());
		}) }, word)));
}

function besideChoice(id, s) {
	const select = element("select", { "aria-label": "another incident to compare with", "data-key": "with", onchange: (e) => setState({ with: e.target.value || null }) },
		element("option", { value: "" }, "nothing"), ...[...marks].reverse().filter((m) => String(m.id) !== id).map((m) => element("option", { value: String(m.id) }, markText(m))));
	select.value = s.with ?? "";
	return element("label", { class: "choice" }, "compare with ", select);
}

async function drawOne(holder, id, first, s) {
	const m = marks.find((x) => String(x.id) === id);
	if (!m) {
		holder.replaceChildren(element("p", {}, first ? "There is no such incident." : ""));
		return;
	}
	const waits = element("p", { class: "hint" }), body = element("div", {}, waits), similar = element("div", {}), inspected = element("div", {});
	const ways = element("p", { class: "ways" }, link({ view: "machine", at: id, mark: id, with: null, pid: null, feature: null, from: null, to: null }, "machine then"), " ", ...["timeline", "blame", "flame"].flatMap((view) => [link({ view, mark: id, with: null, from: null, to: null }, { timeline: "timeline", blame: "blame", flame: "flame graph" }[view]), " "]),
		!first ? link({ view: "flame", mark: s.mark, base: id, with: null, from: null, to: null }, "difference of the flame graphs") : "");
	replaceContents(holder, element("h2", {}, `${m.source === "rule" ? "Incident" : "Mark"} ${m.id}, ${localTime(m.at)}${m.until && m.until !== m.at ? ` until ${localTime(m.until, false)}` : ""}`), ways,
		noteForm(m), element("p", { class: "row" }, feedback(m), first ? besideChoice(id, s) : element("button", { type: "button", "data-key": "away", onclick: () => { parts.one.querySelector('[data-key="with"]')?.focus(); setState({ with: null }); } }, "take away")), body, inspected, similar);
	const done = waiting(waits, "reading the answer ...");
	const draw = (answer) => {
		drawAnswer(body, answer, (c) => setState({ view: "machine", at: id, mark: id, pid: c.pid || null, feature: c.features[0]?.name, with: null, from: null, to: null }));
		similar.replaceChildren(...similarList(answer));
	};
	phases(id).then((found) => inspected.replaceChildren(...found));
	try {
		const answer = await ask("incident", { id });
		if (!holder.contains(body)) return; // another one was chosen in the meantime
		draw(answer);
		if (!answer.events_are_late) return;
		const whole = await ask("incident", { id, wait: 1 }); // the first answer is from counters, to be in time
		if (holder.contains(body)) draw(whole);
	} catch (e) {
		body.replaceChildren(element("p", { class: "error-text" }, e.message));
	} finally {
		done();
	}
}

// The newest one, as long as nothing chose.
const shown = (s) => s.mark || (marks.length ? String(marks.at(-1).id) : null);

function drawList(s) {
	drawIncidents(parts.list, marks, { chosen: shown(s), other: s.with || null, filter: s.find, onChoose: (id, walk) => setState({ mark: id, with: s.with === id ? null : s.with }, false, walk) });
}

export async function show(main, s, changed) {
	if (!parts) build(main);
	parts.filter.show(s);
	if (changed("mark", "view") || !marks.length) {
		const answer = await question(() => ask("marks"));
		showsNothing(main, !answer?.marks.length);
		if (!answer) return;
		marks = answer.marks;
	}
	s = state();
	drawList(s);
	const id = shown(s);
	parts.other.hidden = !s.with;
	main.classList.toggle("two", Boolean(s.with));
	const compared = parts.one.querySelector('[data-key="with"]');
	if (compared) compared.value = s.with ?? "";
	const work = [];
	if (changed("mark", "view")) work.push(id ? drawOne(parts.one, id, true, s) : parts.one.replaceChildren(element("p", { class: "hint" }, "Choose an incident to see its answer.")));
	if (changed("mark", "view", "with")) work.push(s.with ? drawOne(parts.other, s.with, false, s) : parts.other.replaceChildren());
	await Promise.all(work);
}
