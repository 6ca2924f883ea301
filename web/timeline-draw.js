// What the timeline draws next to the rows' states (lines.js). `seen`: { axis, data, marks, instant, origin (ns), scroll and height (px), chosen (a
// thread's number, or null) }, as timeline.js has them.
import { drawRuler, momentOf } from "./axis.js";
import { css } from "./dom.js";

export const ROW = 16, CPU_ROW = 14, GAP = 2, PITCH = ROW + GAP, TIMES = 20, RULER = TIMES + 14; // px; names of marks stand below the times

// The row of a thread, among all of them; -1: it is not among those that were asked for.
export function rowIn(data, tid) {
	const k = data ? data.lines.findIndex((l) => l.tid === tid) : -1;
	return k < 0 ? -1 : k + data.first;
}

// The ruler, marks, and who has each CPU.
export function drawHead(c, { axis, data, marks, origin }) {
	const height = RULER + data.cpus.length * (CPU_ROW + GAP);
	drawRuler(c, axis, { height: TIMES, colours: { ink: css("--faint"), line: css("--line") } });
	c.font = "11px system-ui";
	c.fillStyle = css("--bad");
	let free = 0; // left of it names of earlier marks stand
	for (const m of [...marks].sort((a, b) => a.id - b.id)) {
		const x = axis.x(Number(momentOf(m.at) - origin)), text = m.note || `mark ${m.id}`, room = c.measureText(text).width + 8;
		if (x < -1 || x > axis.width + 1) continue;
		c.fillRect(Math.round(x) - 1, 0, 2, height);
		const left = x + room > axis.width ? x - room : x + 4;
		if (left < free) continue;
		c.fillText(text, left, RULER - 3);
		free = left + room;
	}
	data.cpus.forEach((cpu, i) => nameRuns(c, { axis, data }, cpu.decoded, RULER + i * (CPU_ROW + GAP)));
}

// Who has the CPU, where there is room for it.
function nameRuns(c, { axis, data }, runs, y) {
	c.save();
	c.textBaseline = "middle";
	for (let i = 0; i < runs.from.length; i++) {
		const from = axis.x(data.base + runs.from[i]), to = axis.x(data.base + runs.to[i]);
		if (to < 0 || runs.who[i] < 0) continue;
		if (from > axis.width) break;
		const left = Math.max(0, from), room = Math.min(axis.width, to) - left;
		if (room < 48) continue;
		const name = data.people[runs.who[i]].name;
		c.save();
		c.beginPath();
		c.rect(left, y, room - 2, CPU_ROW);
		c.clip();
		c.fillStyle = css("--panel");
		const width = c.measureText(name).width;
		c.fillRect(left + 3, y + 2, width + 6, 11);
		c.fillStyle = css("--ink");
		c.fillText(name, left + 6, y + 8);
		c.restore();
	}
	c.restore();
}

const yOf = (row, scroll) => row * PITCH - scroll;

// What is chosen, the wait chain of the chosen interval, the critical path.
export function drawOver(c, seen) {
	const { axis, data, scroll, instant } = seen, chosen = seen.chosen === null ? -1 : rowIn(data, seen.chosen);
	if (data.path) drawPath(c, seen);
	if (chosen >= 0) {
		c.strokeStyle = css("--accent");
		c.lineWidth = 1;
		c.strokeRect(0.5, yOf(chosen, scroll) - 0.5, axis.width - 1, ROW + 1);
	}
	if (instant && !instant.error && chosen >= 0) {
		const x = axis.x(instant.from), to = axis.x(instant.to), y = yOf(chosen, scroll);
		c.strokeStyle = css("--ink");
		c.lineWidth = 2;
		c.strokeRect(Math.max(-4, x), y, Math.min(axis.width + 4, to) - Math.max(-4, x), ROW);
		drawChain(c, seen, chosen);
	}
}

// The critical path: a bar under the one that was next to be done at each moment, lines where it passes from one to another.
function drawPath(c, { axis, data, scroll, height }) {
	c.fillStyle = css("--panel");
	c.globalAlpha = 0.55;
	c.fillRect(0, 0, axis.width, height);
	c.globalAlpha = 1;
	c.fillStyle = c.strokeStyle = css("--bad");
	c.lineWidth = 1;
	c.beginPath();
	let before = -1;
	const rows = new Map(data.lines.map((l, i) => [l.tid, i + data.first]));
	for (const p of data.path) {
		const x = axis.x(p.from), to = axis.x(p.from + p.ns), row = rows.get(p.tid) ?? -1;
		if (to < 0) {
			before = row;
			continue;
		}
		if (x > axis.width) break;
		if (row >= 0) {
			const y = yOf(row, scroll);
			c.fillRect(x, y + ROW - 4, Math.max(1, to - x), 4);
			if (before >= 0 && before !== row) {
				c.moveTo(x, yOf(before, scroll) + ROW - 2);
				c.lineTo(x, y + ROW - 2);
			}
		}
		before = row;
	}
	c.stroke();
}

function arrow(c, x, fromY, toY) {
	const head = Math.sign(toY - fromY) * 5;
	c.beginPath();
	c.moveTo(x, fromY);
	c.lineTo(x, toY);
	c.moveTo(x - 4, toY - head);
	c.lineTo(x, toY);
	c.lineTo(x + 4, toY - head);
	c.stroke();
}

// From who waits to whom it waits for, where the chain goes one deeper; and from the waker to who continues.
function drawChain(c, { axis, data, scroll, height, instant, chosen: tid }, chosen) {
	const middle = (row) => yOf(row, scroll) + ROW / 2;
	const edge = (other) => (rowIn(data, other) >= 0 ? middle(rowIn(data, other)) : height - 2); // not among the rows: downwards
	const above = [];
	c.strokeStyle = css("--ink");
	c.lineWidth = 1.5;
	for (const p of instant.chain) {
		const before = above[p.depth];
		above.length = p.depth;
		above[p.depth] = p.tid;
		if (p.depth && before !== p.tid) arrow(c, Math.round(axis.x(p.from)) + 0.5, edge(above[p.depth - 1] ?? tid), edge(p.tid));
	}
	const waker = instant.answer.ended_by.thread;
	if (waker && waker.tid !== tid) {
		c.strokeStyle = css("--bad");
		arrow(c, Math.round(axis.x(instant.to)) + 0.5, edge(waker.tid), middle(chosen));
	}
}
