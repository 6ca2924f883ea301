// Why one process is (or was) slow: what it waits for, and the chain of who waits for whom (whyslow.program/1). The address has the pid that
// was asked about (why); about now the chain is of the moment when it was asked.
import { ask } from "./api.js";
import { formatSpan } from "./axis.js";
import { element, replaceContents } from "./dom.js";
import { questions, statusLine } from "./pane.js";
import { onState, setState, state } from "./state.js";

const SHOWN = 5; // waits of the events

const who = (l, onChoose) => element("button", { type: "button", class: "who", title: "choose this process", onclick: () => onChoose(String(l.pid)) }, `${l.name} ${l.pid}`);

function parts(a, onChoose) {
	const chain = a.chain.map((l) => element("li", {}, who(l, onChoose), `${l.role ? `, ${l.role},` : ""} ${l.text}`));
	const events = a.events.slice(0, SHOWN).map((e) => element("li", {}, `${formatSpan(e.ns)} because of ${e.culprit_text}${e.held_in?.length ? `, in ${e.held_in.join(" > ")}` : ""}`));
	return [element("p", { class: `summary ${a.slow ? "slow" : "calm"}` }, a.summary),
		chain.length ? element("ol", { class: "chain", "aria-label": "who waits for whom" }, ...chain) : "",
		a.next ? element("p", {}, a.next) : "",
		events.length ? element("p", {}, "By the events it waited:") : "", events.length ? element("ul", {}, ...events) : ""];
}

// Its show(pid, at, onChoose) draws the answer about that process, once it was asked for.
export function programPanel() {
	const status = statusLine(), said = element("div", { id: "program-answer" }), question = questions(status);
	const button = element("button", { type: "button", id: "why-program", onclick: () => { drawn = null; if (state().why === shown.pid) draw(); else setState({ why: shown.pid }); } }, "Why is it slow?");
	const whole = element("div", { class: "program" }, button, status, said);
	let shown = {}, drawn = null;
	const clear = () => { drawn = null; said.replaceChildren(); };
	onState((s) => { if (s.why !== shown.pid || (s.pid && s.pid !== shown.pid)) clear(); }); // another process's would stay until this one is read
	async function draw() {
		const mine = drawn = `${shown.pid} ${shown.at ?? ""}`;
		const answer = await question(() => ask("program", { for: shown.pid, at: shown.at }), "asking for what it waits ...");
		if (answer && mine === drawn) replaceContents(said, ...parts(answer, shown.onChoose));
	}
	whole.show = (pid, at, onChoose) => {
		shown = { pid, at: at ?? null, onChoose };
		if (state().why !== pid) clear();
		else if (drawn !== `${pid} ${at ?? ""}`) draw();
	};
	return whole;
}
