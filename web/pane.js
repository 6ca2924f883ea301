// What the panes with a module of their own share.
import { ask } from "./api.js";
import { element, waiting } from "./dom.js";
import { localTime } from "./format.js";
import { chosenRange } from "./selection.js";
import { setState, state } from "./state.js";

// Asks in order: an answer that a later question overtook is dropped (null). Errors stand in `status`, and `failed` takes away what was
// shown of another question; true: it has said what is wrong, too.
export function questions(status, failed = () => null) {
	let last = 0;
	return async (work, busy = "asking ...") => {
		const mine = ++last, done = waiting(status, busy);
		try {
			const answer = await work();
			done();
			if (mine !== last) return null;
			status.textContent = "";
			status.classList.remove("error");
			return answer;
		} catch (e) {
			done();
			if (mine !== last) return null;
			const said = failed(e) === true;
			status.textContent = said ? "" : e.message;
			status.classList.toggle("error", !said);
			return null;
		}
	};
}

// Until there is something to show, a pane is its toolbar and what it says.
export const showsNothing = (main, nothing) => main.classList.toggle("nothing", nothing);

export const statusLine = () => element("p", { class: "pane-status", role: "status", "aria-live": "polite" });

// Of a pane without data: its purpose, and the command that gives it some, with the path that is typed.
export function emptyState(purpose, before, after, placeholder) {
	const command = element("code"), said = element("span", { class: "hint", role: "status" });
	const path = element("input", { type: "text", size: 32, placeholder, spellcheck: "false", autocomplete: "off", "data-key": "path" });
	const quoted = (text) => (/^[\w./:@+-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
	const write = () => { command.textContent = `${before}${quoted(path.value.trim() || placeholder)}${after}`; said.textContent = ""; };
	const copy = () => navigator.clipboard.writeText(command.textContent).then(() => { said.textContent = " copied"; }, () => { said.textContent = " select the command to copy it"; });
	path.addEventListener("input", write);
	write();
	return element("div", { class: "empty" }, element("p", {}, purpose),
		element("p", {}, element("label", {}, "path on the machine that serves this page ", path)),
		element("p", {}, "Then run: ", command, " ", element("button", { type: "button", onclick: copy }, "Copy"), said));
}

// A choice that stands in the address: options are [value, text]; the first is what an address without the key means.
export function choice(key, label, options) {
	const select = element("select", { onchange: (e) => setState({ [key]: e.target.value === options[0][0] ? null : e.target.value }) },
		...options.map(([value, text]) => element("option", { value }, text)));
	const whole = element("label", { class: "choice" }, `${label} `, select);
	whole.show = (s) => { select.value = s[key] ?? options[0][0]; };
	return whole;
}

export function check(key, label, title) {
	const box = element("input", { type: "checkbox", onchange: (e) => setState({ [key]: e.target.checked ? "1" : null }) });
	const whole = element("label", { class: "choice", title }, box, ` ${label}`);
	whole.show = (s) => { box.checked = s[key] === "1"; };
	return whole;
}

// Text in the address; asked for when Enter is pressed or the field is left. It is wide enough for its hint.
export function field(key, label, { width = 8, placeholder = "", type = "text", live = false } = {}) {
	const input = element("input", { type, size: Math.max(width, placeholder.length + 2), placeholder, spellcheck: "false", autocomplete: "off" }); // "+ 2": a search has a button within
	const take = () => setState({ [key]: input.value.trim() || null }, live);
	input.addEventListener(live ? "input" : "change", take);
	const whole = element("label", { class: "choice" }, `${label} `, input);
	whole.show = (s) => { if (document.activeElement !== input || !live) input.value = s[key] ?? ""; };
	whole.input = input;
	return whole;
}

export const markText = (m) => `${m.source === "rule" ? "incident" : "mark"} ${m.id}, ${localTime(m.at)}${m.note ? `: ${m.note.length > 40 ? `${m.note.slice(0, 39)}…` : m.note}` : ""}`;

// Whose events: those of now, or those kept of a mark.
export function eventsChoice(key = "mark", first = ["", "now"], label = "events of") {
	const select = element("select", { onchange: (e) => setState({ [key]: e.target.value || null }) });
	const whole = element("label", { class: "choice events" }, `${label} `, select);
	let marks = [];
	const fill = () => {
		const chosen = state()[key] ?? "";
		select.replaceChildren(element("option", { value: first[0] }, first[1]), ...[...marks].reverse().map((m) => element("option", { value: String(m.id) }, markText(m))));
		if (chosen && !marks.some((m) => String(m.id) === chosen)) select.append(element("option", { value: chosen }, /^\d+$/.test(chosen) ? `mark ${chosen}` : chosen));
		select.value = chosen;
	};
	whole.extra = (value, text) => { if (![...select.options].some((o) => o.value === value)) select.append(element("option", { value }, text)); };
	whole.show = async () => {
		fill();
		try {
			marks = (await ask("marks")).marks;
			fill();
		} catch { /* the pane's own question says why */ }
	};
	return whole;
}

// Events of now are those of when they were asked for.
export function freezeAnew() {
	const button = element("button", { type: "button", title: "the flight recorder's events up to now", onclick: () => setState({ freeze: Date.now().toString(36), mark: null, from: null, to: null, when: null }) }, "Freeze again");
	button.show = (s) => { button.hidden = Boolean(s.mark); };
	return button;
}

// The interval of time that was chosen in another pane, and the way back to all of it.
export function rangeChoice() {
	const said = element("span"), clock = (ns) => `${localTime(Number(ns / 1000000n), false)}.${String(ns / 1000000n % 1000n).padStart(3, "0")}`;
	const whole = element("span", { class: "choice", hidden: true }, said, " ", element("button", { type: "button", onclick: () => {
		whole.parentElement.querySelector("select, input").focus(); // the button goes
		setState({ from: null, to: null });
	} }, "all of the time"));
	whole.show = (s) => {
		const range = chosenRange(s);
		whole.hidden = !range;
		if (range) said.textContent = `${clock(range.from)} to ${clock(range.to)}`;
	};
	return whole;
}

export const HIDDEN = "only a program's owner and root see what it executed";

// "11.4 s of events until 13:29:30, 746 lost"
export function windowText(w) {
	const missing = w.lost ? `; ${w.lost.toLocaleString("en")} events are missing` : "";
	const hidden = w.hidden ? `; ${HIDDEN}` : "";
	return `${(w.ns / 1e9).toFixed(w.ns < 1e9 ? 3 : 1)} s, ${localTime(w.start)} to ${localTime(w.end, false)}, ${w.events.toLocaleString("en")} events${missing}${hidden}`;
}

// An address within the page, with the selection kept.
export const link = (patch, text, attributes = {}) => {
	const next = new URLSearchParams({ ...state(), ...patch });
	for (const [key, value] of Object.entries(patch)) if (value === null || value === undefined) next.delete(key);
	return element("a", { href: `#${next}`, ...attributes }, text);
};

// A canvas as sharp as the screen: its context, in CSS pixels.
export function sharp(canvas, width, height) {
	const ratio = devicePixelRatio || 1;
	canvas.width = Math.max(1, Math.round(width * ratio));
	canvas.height = Math.max(1, Math.round(height * ratio));
	canvas.style.width = `${width}px`;
	canvas.style.height = `${height}px`;
	const context = canvas.getContext("2d");
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	return context;
}

// Calls `draw` when the holder's width, or dark and light, change.
export function redrawn(holder, draw) {
	let width = 0;
	new ResizeObserver(() => {
		if (holder.clientWidth && holder.clientWidth !== width) {
			width = holder.clientWidth;
			draw();
		}
	}).observe(holder);
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}

export const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches;

// Keys while the pane is seen and nothing types.
export function keys(main, handlers) {
	addEventListener("keydown", (e) => {
		if (main.hidden || e.ctrlKey || e.metaKey || e.altKey || e.target.matches("input, select, textarea")) return;
		const handle = handlers[e.key];
		if (handle && handle(e) !== false) e.preventDefault();
	});
}
