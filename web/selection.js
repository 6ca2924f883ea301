// What all panes have in common, in the address: the range of time that is looked at (from, to: seconds since the epoch,
// to the nanosecond), the process (pid) and the thread (tid), and of which mark the events are (mark; none = now's).
import { formatMoment, parseMoment } from "./axis.js";
import { setState } from "./state.js";

// { from, to } in BigInt nanoseconds, or null: nothing chose.
export function chosenRange(s) {
	const from = parseMoment(s.from), to = parseMoment(s.to);
	return from !== null && to !== null && from < to ? { from, to } : null;
}

// `replace`: no new entry in the browser's history (while dragging).
export function chooseRange(from, to, replace = false) {
	setState({ from: from === null ? null : formatMoment(from), to: to === null ? null : formatMoment(to) }, replace);
}

// The parameters every question about events has in common.
export function eventQuestion(s) {
	const range = chosenRange(s);
	return { mark: s.mark ?? null, since: range && `@${formatMoment(range.from)}`, until: range && `@${formatMoment(range.to)}` };
}
