// Requests by time and by the logarithm of their duration, as colors on a canvas: denser is lighter (darker by day). A rectangle drawn
// over it, or chosen by keys, selects requests (whyslow.spans.select/1).
import { Axis, drawRuler, formatMoment, formatSpan, momentOf, parseMoment } from "./axis.js";
import { css } from "./dom.js";
import { heatColour } from "./heatmap.js";
import { sharp } from "./pane.js";

const RULER = 20, GUTTER = 64, HEIGHT = 240, LEAST_DRAG = 4; // px
const LEAST_MARKS = 3;

export class LatencyMap {
	// onSelect({ begin, end, longer, shorter } as the address has them, or all null: nothing is selected); onCell(words)
	constructor(canvas, { onSelect, onCell }) {
		Object.assign(this, { canvas, onSelect, onCell, map: null, cursor: null, held: null, drag: null });
		canvas.addEventListener("pointerdown", (e) => this.down(e));
		canvas.addEventListener("pointermove", (e) => this.move(e));
		canvas.addEventListener("pointerup", (e) => this.up(e));
		canvas.addEventListener("dblclick", () => this.clear());
		canvas.addEventListener("keydown", (e) => this.key(e));
	}

	// map: as the interface gives it; chosen: what the address selects
	show(map, chosen) {
		const width = this.canvas.parentElement.clientWidth || 600;
		Object.assign(this, { map, chosen, width, origin: momentOf(map.from), most: Math.max(1, ...map.counts) });
		this.axis = new Axis(this.origin, 0, map.columns * map.step_ns, width - GUTTER);
		this.image = this.paint();
		this.draw();
	}

	paint() {
		const { columns, rows, counts } = this.map, image = new ImageData(columns, rows);
		counts.forEach((n, i) => {
			const x = i % columns, y = rows - 1 - Math.floor(i / columns);
			if (n > 0) image.data.set([...heatColour(Math.log1p(n) / Math.log1p(this.most)), 255], 4 * (y * columns + x));
		});
		const small = new OffscreenCanvas(columns, rows);
		small.getContext("2d").putImageData(image, 0, 0);
		return small;
	}

	x(column) { return GUTTER + column / this.map.columns * (this.width - GUTTER); }
	y(row) { return RULER + HEIGHT - row / this.map.rows * HEIGHT; }
	duration(row) { return this.map.low_ns * this.map.factor ** row; }
	rowOf(ns) { return Math.log(ns / this.map.low_ns) / Math.log(this.map.factor); }
	columnOf(moment) { return Number(moment - this.origin) / this.map.step_ns; }

	draw() {
		const context = sharp(this.canvas, this.width, RULER + HEIGHT), right = this.width - GUTTER;
		context.clearRect(0, 0, this.width, RULER + HEIGHT);
		drawRuler(context, this.axis, { left: GUTTER, height: RULER, colours: { ink: css("--faint"), line: css("--line") } });
		context.imageSmoothingEnabled = false;
		context.drawImage(this.image, GUTTER, RULER, right, HEIGHT);
		this.durations(context);
		const frame = this.drag ?? this.chosenFrame();
		if (frame) this.outline(context, frame);
		if (this.cursor) this.outline(context, { a: this.cursor, b: this.cursor });
	}

	// Round durations within the map: powers of ten, and where these are few, their multiples, too.
	roundDurations() {
		const low = this.duration(0), high = this.duration(this.map.rows);
		for (const steps of [[1], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9]]) {
			const out = [];
			for (let decade = 10 ** Math.floor(Math.log10(low)); decade <= high; decade *= 10) out.push(...steps.map((s) => s * decade).filter((ns) => ns >= low && ns <= high));
			if (out.length >= LEAST_MARKS || steps.length > 3) return out;
		}
		return [];
	}

	// At the left edge.
	durations(context) {
		context.font = "11px system-ui";
		context.textBaseline = "middle";
		for (const duration of this.roundDurations()) {
			const y = Math.round(this.y(this.rowOf(duration))) + 0.5;
			context.strokeStyle = css("--line");
			context.beginPath();
			context.moveTo(GUTTER - 6, y);
			context.lineTo(GUTTER, y);
			context.stroke();
			context.fillStyle = css("--faint");
			context.fillText(formatSpan(duration), 2, Math.max(RULER + 6, y));
		}
	}

	// Cells from corner a to corner b, both included.
	outline(context, { a, b }) {
		const left = this.x(Math.min(a.column, b.column)), right = this.x(Math.max(a.column, b.column) + 1);
		const top = this.y(Math.max(a.row, b.row) + 1), bottom = this.y(Math.min(a.row, b.row));
		for (const [style, wide] of [[css("--ground"), 4], [css("--ink"), 2]]) {
			context.strokeStyle = style;
			context.lineWidth = wide;
			context.strokeRect(left, top, Math.max(2, right - left), Math.max(2, bottom - top));
		}
	}

	chosenFrame() {
		const { begin, end, longer, shorter } = this.chosen, { columns, rows } = this.map;
		if (!begin && !end && !longer && !shorter) return null;
		const cell = (value, most) => Math.max(0, Math.min(most - 1, value));
		return { a: { column: cell(begin ? Math.round(this.columnOf(parseMoment(begin))) : 0, columns), row: cell(longer ? Math.round(this.rowOf(Number(longer))) : 0, rows) },
			b: { column: cell(end ? Math.round(this.columnOf(parseMoment(end))) - 1 : columns - 1, columns), row: cell(shorter ? Math.round(this.rowOf(Number(shorter))) - 1 : rows - 1, rows) } };
	}

	place(e) {
		const rect = this.canvas.getBoundingClientRect(), { columns, rows } = this.map;
		const column = Math.floor((e.clientX - rect.left - GUTTER) / (this.width - GUTTER) * columns), row = Math.floor((RULER + HEIGHT - (e.clientY - rect.top)) / HEIGHT * rows);
		return { column: Math.max(0, Math.min(columns - 1, column)), row: Math.max(0, Math.min(rows - 1, row)) };
	}

	down(e) {
		if (!this.map) return;
		const at = this.place(e);
		this.drag = { a: at, b: at, x: e.clientX, y: e.clientY };
		this.canvas.setPointerCapture(e.pointerId);
	}

	move(e) {
		if (!this.map) return;
		const at = this.place(e);
		if (this.drag) this.drag.b = at;
		else this.cursor = null;
		this.draw();
		this.tell(at);
	}

	up(e) {
		const drag = this.drag;
		this.drag = null;
		if (!drag) return;
		if (Math.hypot(e.clientX - drag.x, e.clientY - drag.y) > LEAST_DRAG) this.select(drag.a, drag.b);
		else this.draw();
	}

	// A side of the map is not a bound: the selection includes all requests beyond it.
	select(a, b) {
		const { columns, rows } = this.map, [left, right] = [Math.min(a.column, b.column), Math.max(a.column, b.column) + 1], [low, high] = [Math.min(a.row, b.row), Math.max(a.row, b.row) + 1];
		const moment = (column) => formatMoment(this.origin + BigInt(Math.round(column * this.map.step_ns)));
		this.onSelect({ begin: left > 0 ? moment(left) : null, end: right < columns ? moment(right) : null,
			longer: low > 0 ? String(Math.round(this.duration(low))) : null, shorter: high < rows ? String(Math.round(this.duration(high))) : null });
	}

	clear() { this.onSelect({ begin: null, end: null, longer: null, shorter: null }); }

	tell(at) {
		const n = this.map.counts[at.row * this.map.columns + at.column], failed = this.map.failed[at.row * this.map.columns + at.column];
		const when = new Date(Number((this.origin + BigInt(Math.round(at.column * this.map.step_ns))) / 1000000n));
		this.onCell(`${n.toLocaleString("en")} requests of ${formatSpan(this.duration(at.row))} to ${formatSpan(this.duration(at.row + 1))} at ${when.toLocaleTimeString("en-GB")}${failed ? `, ${failed.toLocaleString("en")} failed` : ""}`);
	}

	// Arrows move a cell; with shift they draw a rectangle, which Enter selects; Escape selects nothing.
	key(e) {
		if (!this.map) return;
		const { columns, rows } = this.map, c = this.cursor ?? { column: 0, row: 0 }, by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[e.key];
		if (by) {
			const next = { column: Math.max(0, Math.min(columns - 1, c.column + by[0])), row: Math.max(0, Math.min(rows - 1, c.row + by[1])) };
			this.held = e.shiftKey ? this.held ?? c : null;
			this.cursor = next;
			this.drag = this.held ? { a: this.held, b: next } : null;
			this.draw();
			this.tell(next);
		} else if (e.key === "Enter" && this.cursor) {
			const from = this.held ?? this.cursor;
			this.held = this.drag = null;
			this.select(from, this.cursor);
		} else if (e.key === "Escape" && (this.cursor || this.chosenFrame())) {
			this.cursor = this.held = this.drag = null;
			this.clear();
			this.draw();
		} else {
			return;
		}
		e.preventDefault();
		e.stopPropagation();
	}
}
