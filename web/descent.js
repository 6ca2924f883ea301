// From a request down to the hosts it waited at, and what their recorders say (whyslow.spans.request/1); on a host's own page the way
// back up. The address says which request was asked about (down), and where a host's page was entered from (request).
import { ask } from "./api.js";
import { formatSpan } from "./axis.js";
import { element, replaceContents } from "./dom.js";
import { link, questions, statusLine } from "./pane.js";
import { setState, state } from "./state.js";

const isAddress = (text) => /^https?:\/\/[^\s]+$/.test(text ?? "");

// The host's own page, at that moment and process.
function hostLink(p) {
	const there = { view: "machine", at: p.to, pid: p.process ?? null, window: null, from: null, to: null };
	if (!isAddress(p.recorder)) return p.recorder === "this machine" ? link(there, "this machine at that moment") : "";
	const hash = new URLSearchParams({ view: "machine", at: p.to, ...(p.process ? { pid: p.process } : {}), request: location.href });
	return element("a", { href: `${p.recorder}/#${hash}` }, `the page of ${p.host}`);
}

const heldIn = (p) => p.program?.events.find((e) => e.held_in?.length);

function placeItem(p) {
	const held = heldIn(p), where = p.host ? `${p.service} on ${p.host}` : `${p.service}, of which the spans name no host`;
	const line = (head, document, error) => element("li", {}, element("strong", {}, `${head}: `), document?.summary ?? error ?? "nothing is known");
	return element("li", {}, element("p", {}, `${formatSpan(p.path_ns)} in ${p.operation}: ${where}${p.process ? `, process ${p.process}` : ""}. `, hostLink(p)),
		element("ul", {}, line("The machine", p.machine, p.machine_error), ...(p.recorder ? [line("The process", p.program, p.program_error)] : []),
			...(held ? [element("li", {}, element("strong", {}, "Held in: "), `${held.culprit_text}: ${held.held_in.join(" > ")}`)] : [])));
}

// Its show(trace) draws the answer about that request, once it was asked for.
export function descentPanel() {
	const status = statusLine(), list = element("div", { id: "descent-list" }), question = questions(status);
	const button = element("button", { type: "button", id: "descend", onclick: () => setState({ down: shown }) }, "Ask its hosts why");
	const whole = element("div", { class: "descent" }, button, status, list);
	let shown = null, drawn = null;
	whole.show = async (trace) => {
		shown = trace;
		button.hidden = !trace;
		if (state().down !== trace || !trace) {
			drawn = null;
			list.replaceChildren();
			return;
		}
		if (drawn === trace) return;
		drawn = trace;
		const answer = await question(() => ask("spans/why", { trace }), "asking the recorders of its hosts ...");
		if (!answer || drawn !== trace) return;
		if (answer.hosts.length) replaceContents(list, element("ol", {}, ...answer.hosts.map(placeItem)));
		else replaceContents(list, element("p", { class: "hint" }, "No call took a tenth of the request by itself."));
	};
	return whole;
}

// Back to the request that led to this page; nothing where none did.
export function wayUp() {
	const from = state().request;
	return isAddress(from) ? element("p", { class: "hint" }, element("a", { href: from, rel: "noreferrer" }, `Back to the request on ${new URL(from).host}`)) : "";
}
