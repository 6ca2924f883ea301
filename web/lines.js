// Lines of runs (whyslow.timeline/1) as pixels. A frame writes every pixel once from a table, whatever happens in it: its
// cost does not depend on how many intervals there are.
import { css } from "./dom.js";

// Classes of states, in the order of the legend. `height`: how much of the row such a run fills, so that the drawing is
// read without colors as well; `ground`: it lies at the row's foot.
export const CLASSES = [
	{ key: "running", text: "running", height: 1 },
	{ key: "kernel", text: "running in the kernel", height: 1 },
	{ key: "interrupt", text: "interrupted", height: 1 },
	{ key: "ready", text: "ready, waiting for a CPU", height: 0.8 },
	{ key: "lock", text: "waiting for a lock", height: 0.65 },
	{ key: "disk", text: "waiting for a disk or a page", height: 0.65 },
	{ key: "memory", text: "short of memory", height: 0.65 },
	{ key: "other", text: "waiting in the kernel, or for an unknown reason", height: 0.65 },
	{ key: "awaited", text: "waiting for others' work", height: 0.4 },
	{ key: "resting", text: "resting", height: 0.12 },
	{ key: "unknown", text: "not known", height: 0.12 },
];
export const USES = [
	{ key: "chosen", text: "the chosen program", height: 1 },
	{ key: "otherprogram", text: "other programs", height: 0.8 },
	{ key: "system", text: "the system", height: 0.6 },
	{ key: "cpuidle", text: "idle", height: 0.12 },
	{ key: "unknown", text: "not known", height: 0.12 },
];
const BY_WAIT = { cpu: "ready", quota: "ready", lock: "lock", disk: "disk", fault: "disk", memory: "memory", interrupt: "interrupt", other: "other", unclear: "other", reader: "awaited", peer: "awaited", network: "awaited", condition: "awaited", child: "awaited" };
const BY_USE = { chosen: "chosen", other: "otherprogram", system: "system", idle: "cpuidle", unknown: "unknown" };

export const classOfState = (state) => BY_WAIT[state.wait] ?? (state.name === "running" ? "running" : state.name === "running_kernel" ? "kernel" : state.name === "unknown" ? "unknown" : "resting");
export const classOfUse = (use) => BY_USE[use];

export const KINDS = 32; // beyond it the runs are mixes
const NOTHING = KINDS - 1; // no state has this number

// The answer's text of runs -> { from, to (ns from the window's start), what, who }, typed arrays.
export function decodeRuns(text, unit, cpu) {
	const bytes = atob(text), n = bytes.length;
	const from = [], to = [], what = [], who = [];
	let i = 0, at = 0;
	const number = () => {
		let value = 0, scale = 1, byte;
		do {
			byte = bytes.charCodeAt(i++);
			value += (byte & 127) * scale;
			scale *= 128;
		} while (byte & 128);
		return value;
	};
	while (i < n) {
		const begin = at + number();
		at = begin + number();
		from.push(begin * unit);
		to.push(at * unit);
		what.push(number());
		if (cpu) who.push(number() - 1);
	}
	return { from: Float64Array.from(from), to: Float64Array.from(to), what: Uint32Array.from(what), who: cpu ? Int32Array.from(who) : null };
}

// The first run that ends after a time.
function runAfter(runs, t) {
	let low = 0, high = runs.from.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (runs.to[middle] <= t) low = middle + 1;
		else high = middle;
	}
	return low;
}

// The run at a time, or -1.
export function runAt(runs, t) {
	const i = runAfter(runs, t);
	return i < runs.from.length && runs.from[i] <= t ? i : -1;
}

const rgba = (hex) => {
	const v = parseInt(hex.slice(1), 16);
	return (0xff000000 | (v & 255) << 16 | (v >> 8 & 255) << 8 | v >> 16) >>> 0;
};

// For each kind and mix a column of `height` pixels, from the top down.
class Palette {
	constructor(height) {
		this.height = height;
		this.ground = rgba(css("--panel"));
		this.count = 0;
		this.table = new Uint32Array(0);
	}
	#grow(count) {
		const table = new Uint32Array(count * this.height).fill(this.ground);
		table.set(this.table.subarray(0, Math.min(this.table.length, table.length)));
		this.table = table;
		this.count = count;
	}
	fill(classes, classOf, kinds, mixes) {
		const byKey = Object.fromEntries(classes.map((c, i) => [c.key, { ...c, order: i, colour: rgba(css(`--state-${c.key}`)) }]));
		const of = (kind) => byKey[classOf(kinds[kind])];
		this.#grow(KINDS + mixes.length);
		const column = (i) => this.table.subarray(i * this.height, (i + 1) * this.height);
		kinds.forEach((_, k) => column(k).fill(of(k).colour, this.height - Math.max(1, Math.round(of(k).height * this.height))));
		mixes.forEach((mix, m) => { // states' and CPUs' stand side by side: those of the other have kinds that are none here
			const parts = [];
			for (let i = 0; i < mix.length; i += 2) if (mix[i] < kinds.length) parts.push([of(mix[i]), mix[i + 1]]);
			parts.sort((a, b) => b[0].order - a[0].order); // what ran lies at the foot
			const c = column(KINDS + m);
			let share = 0, top = 0;
			for (const [part, sixteenths] of parts) {
				const until = Math.round((share += sixteenths) / 16 * this.height);
				if (part.key !== "resting" && part.key !== "cpuidle") c.fill(part.colour, top, until);
				else if (until === this.height) c.fill(part.colour, this.height - 1);
				top = until;
			}
		});
	}
}

// A canvas of rows. Sizes in CSS pixels; rows are `row` high with a gap of `gap` below.
export class Rows {
	constructor(canvas, { row, gap, classes, classOf }) {
		Object.assign(this, { canvas, row, gap, classes, classOf });
		this.context = canvas.getContext("2d", { alpha: false });
		this.palette = this.drawn = null;
	}
	resize(width, height) {
		const ratio = this.ratio = devicePixelRatio || 1;
		const w = Math.max(1, Math.round(width * ratio)), h = Math.max(1, Math.round(height * ratio));
		if (this.canvas.width === w && this.canvas.height === h && this.image) return;
		this.canvas.width = w;
		this.canvas.height = h;
		this.canvas.style.width = `${width}px`;
		this.canvas.style.height = `${height}px`;
		this.image = new ImageData(w, h);
		this.pixels = new Uint32Array(this.image.data.buffer);
		this.columns = new Uint32Array(w);
		this.palette = null;
		this.blank(); // until there is something to draw
	}
	blank() {
		this.context.setTransform(1, 0, 0, 1, 0, 0);
		this.context.fillStyle = css("--panel");
		this.context.fillRect(0, 0, this.canvas.width, this.canvas.height);
	}
	// Of another answer, or in another light.
	colours(kinds, mixes) {
		this.drawn = [kinds, mixes];
		this.palette = new Palette(Math.max(1, Math.round(this.row * this.ratio)));
		this.palette.fill(this.classes, this.classOf, kinds, mixes);
	}
	// `lineAt(i)` gives row i's runs or null; `scroll` in CSS pixels; runs count from `begin`, as the axis does.
	draw(axis, scroll, count, lineAt, begin) {
		if (!this.palette) this.colours(...this.drawn); // it has got another size
		const { ratio, pixels, palette, columns } = this;
		const width = this.canvas.width, height = this.canvas.height;
		const pitch = (this.row + this.gap) * ratio, top = scroll * ratio;
		pixels.fill(palette.ground);
		for (let i = Math.max(0, Math.floor(top / pitch)); i < count && i * pitch - top < height; i++) {
			const runs = lineAt(i);
			if (!runs || !this.#fillColumns(runs, axis, begin, width)) continue;
			const y = Math.round(i * pitch - top), h = palette.height;
			for (let j = Math.max(0, -y); j < h && y + j < height; j++) {
				const at = (y + j) * width, table = palette.table;
				for (let x = 0; x < width; x++) pixels[at + x] = table[columns[x] * h + j];
			}
		}
		this.context.putImageData(this.image, 0, 0);
		this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
	}
	#fillColumns(runs, axis, begin, width) {
		const k = width / axis.span, shift = (begin - axis.from) * k;
		const { columns } = this;
		let i = runAfter(runs, axis.from - begin), cursor = 0, any = false;
		columns.fill(NOTHING);
		for (; i < runs.from.length; i++) {
			const start = Math.floor(runs.from[i] * k + shift);
			if (start >= width) break;
			const x = Math.max(start, cursor, 0);
			if (x > start + 1 && start >= 0) continue; // narrower than a pixel, and one of these is drawn
			const end = Math.min(width, Math.max(x + 1, Math.floor(runs.to[i] * k + shift)));
			columns.fill(runs.what[i], x, end);
			cursor = end;
			any = true;
		}
		return any;
	}
}
