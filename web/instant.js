// One interval of a thread: its stack, who ended it and where, which one caused the wait, the chain of waits.
import { formatSpan } from "./axis.js";
import { element } from "./dom.js";
import { localTime } from "./format.js";

const frames = (stack) => element("ol", { class: "stack" }, ...stack.map((f) => element("li", { class: f.kernel ? "kernel" : null }, f.name)));
const part = (title, ...content) => [element("h3", {}, title), ...content.filter(Boolean)];

const ENDS = { timer: "a timer", network: "the network", disk: "a completed disk request", interrupt: "an interrupt", unknown: "not known" };

export function drawInstant(holder, instant, { states, moment, onThread, onSpan }) {
	if (!instant) {
		holder.replaceChildren(element("p", { class: "hint" }, "Click an interval, or choose a thread and press Enter."));
		return;
	}
	if (instant.error) {
		holder.replaceChildren(element("p", { class: "error-text" }, instant.error));
		return;
	}
	const a = instant.answer;
	const who = (t) => element("button", { type: "button", class: "who", title: "choose this thread", onclick: () => onThread(t.tid, t.pid) }, `${t.name} ${t.tid}`);
	const milliseconds = Number(moment(instant.from) / 1000000n);
	const waits = a.in_the_way.length > 0 || a.holder;
	holder.replaceChildren(
		element("p", {}, element("strong", {}, `${a.thread.name} ${a.thread.tid}`), `: ${a.text} for ${formatSpan(a.interval.ns)}`),
		element("p", { class: "hint" }, `from ${localTime(milliseconds, false)}.${String(milliseconds % 1000).padStart(3, "0")}${a.cpu === null ? "" : `, CPU ${a.cpu}`}${a.inferred ? "; its beginning is inferred, not recorded" : ""}${a.open ? "; it continues after the last event" : ""} `,
			element("button", { type: "button", class: "who", onclick: () => onSpan(instant.from, instant.to) }, "zoom to it")),
		...(waits ? part("Caused by", element("ol", {}, ...a.in_the_way.slice(0, 8).map((c) => element("li", {}, c.thread ? who(c.thread) : c.culprit, ` ${formatSpan(c.ns)}, waited ${c.wait}${c.modelled ? " (by a model)" : ""}`))),
			a.holder ? element("p", {}, "The lock was held by ", who(a.holder)) : null) : []),
		...(a.chain.length > 1 ? part("What was waited for, in order", element("ol", {}, ...a.chain.slice(0, 20).map((p) => element("li", {}, who(a.people[p.who]), ` ${states[p.state].text}, ${formatSpan(p.ns)}`))),
			a.chain.length > 20 ? element("p", { class: "hint" }, `and ${a.chain.length - 20} more`) : null) : []),
		...part("Ended by", element("p", {}, a.ended_by.thread ? who(a.ended_by.thread) : ENDS[a.ended_by.kind] ?? a.ended_by.kind),
			a.ended_by.stack.length ? frames(a.ended_by.stack) : null),
		...part("Its stack", a.stack.length ? frames(a.stack) : element("p", { class: "hint" }, a.thread.hidden ? "another user's: it is shown to that user and to root" : "not taken: stacks are of waits of 1 ms or more, and of samples")));
}
