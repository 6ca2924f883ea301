// Servers x time as colors on a canvas. Light to dark of one hue family that does not need red and green distinguished.
import { Axis, drawRuler } from "./axis.js";
import { css } from "./dom.js";
import { wheelFactor } from "./gestures.js";
import { isDark, sharp } from "./pane.js";

const RESTED = 200; // ms
const RULER = 20, GUTTER_WIDE = 130, GUTTER_NARROW = 76, LEAST_ROW = 5, MOST_ROW = 22;
// viridis, at eight places
const STOPS = [[68, 1, 84], [70, 50, 127], [54, 92, 141], [39, 127, 142], [31, 161, 135], [74, 194, 109], [159, 218, 58], [253, 231, 37]];

export function heatColour(share) {
	const at = Math.max(0, Math.min(1, share)) * (STOPS.length - 1), i = Math.min(STOPS.length - 2, Math.floor(at)), t = at - i;
	return STOPS[i].map((c, k) => Math.round(c + (STOPS[i + 1][k] - c) * t));
}
export const heatCss = (share) => `rgb(${heatColour(share).join(" ")})`;

export class HeatMap {
	// onBrush(from, to, walk): moments in ns, null = the whole time; onCell(server, index); onServer(name)
	constructor(canvas, { onBrush, onCell, onServer }) {
		Object.assign(this, { canvas, onBrush, onCell, onServer, data: null, cursor: null });
		canvas.addEventListener("pointerdown", (e) => this.down(e));
		canvas.addEventListener("pointermove", (e) => this.move(e));
		canvas.addEventListener("pointerup", (e) => this.up(e));
		canvas.addEventListener("pointerleave", () => { if (!this.drag) this.point(null); });
		canvas.addEventListener("dblclick", () => onBrush(null, null));
		canvas.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
		canvas.addEventListener("keydown", (e) => this.key(e));
	}

	// data: { origin (BigInt ns), step (ns), n, servers: [{ name, values }], low, high, broken: Set of "server|index" }; chosen: a server's name
	show(data, chosen) {
		const width = this.canvas.parentElement.clientWidth || 600;
		Object.assign(this, { data, chosen, width, gutter: width < 600 ? GUTTER_NARROW : GUTTER_WIDE });
		this.row = Math.max(LEAST_ROW, Math.min(MOST_ROW, Math.floor(360 / data.servers.length)));
		this.height = RULER + this.row * data.servers.length;
		this.axis = new Axis(data.origin, 0, data.n * data.step, width - this.gutter);
		this.image = this.paint();
		this.draw();
	}

	// One pixel a value; the canvas scales it. Missing values stay clear.
	paint() {
		const { servers, n, low, high } = this.data, image = new ImageData(Math.max(1, n), servers.length);
		servers.forEach((s, y) => s.values.forEach((v, x) => {
			if (v === null) return;
			image.data.set([...heatColour(high > low ? (v - low) / (high - low) : 0.5), 255], 4 * (y * n + x));
		}));
		const small = new OffscreenCanvas(Math.max(1, n), servers.length);
		small.getContext("2d").putImageData(image, 0, 0);
		// as high as it is drawn, so that smoothing along the time does not mix servers
		const tall = new OffscreenCanvas(small.width, small.height * this.row), context = tall.getContext("2d");
		context.imageSmoothingEnabled = false;
		context.drawImage(small, 0, 0, tall.width, tall.height);
		return tall;
	}

	draw() {
		const { servers, n } = this.data, context = sharp(this.canvas, this.width, this.height), right = this.width - this.gutter;
		context.clearRect(0, 0, this.width, this.height);
		drawRuler(context, this.axis, { left: this.gutter, height: RULER, colours: { ink: css("--faint"), line: css("--line") } });
		context.imageSmoothingEnabled = n > right;
		context.imageSmoothingQuality = "high";
		context.drawImage(this.image, this.gutter, RULER, right, this.row * servers.length);
		this.names(context);
		this.violations(context);
		if (this.drag) {
			context.fillStyle = isDark() ? "#ffffff44" : "#ffffff88";
			const [a, b] = [Math.min(this.drag.x, this.drag.to), Math.max(this.drag.x, this.drag.to)];
			context.fillRect(a, RULER, b - a, this.height);
		}
		if (this.cursor) {
			context.strokeStyle = css("--ink");
			context.lineWidth = 2;
			const w = Math.max(4, right / n);
			context.strokeRect(this.gutter + (this.cursor.index + 0.5) / n * right - w / 2, RULER + this.cursor.server * this.row, w, this.row);
		}
	}

	names(context) {
		const every = Math.ceil(12 / this.row), letters = Math.floor((this.gutter - 8) / 6.6);
		context.font = `${Math.min(12, Math.max(10, this.row))}px system-ui`;
		context.textBaseline = "middle";
		this.data.servers.forEach((s, i) => {
			if (i % every && s.name !== this.chosen) return;
			context.fillStyle = s.name === this.chosen ? css("--accent") : css("--ink");
			context.fillText(`${s.name === this.chosen ? "▸" : ""}${s.name.length > letters ? `…${s.name.slice(-letters + 1)}` : s.name}`, 2, RULER + (i + 0.5) * this.row);
		});
	}

	violations(context) {
		const { broken, servers, n } = this.data, right = this.width - this.gutter, w = Math.max(3, right / n);
		if (!broken?.size) return;
		context.strokeStyle = isDark() ? "#ff8a80" : "#d93025";
		context.lineWidth = 1.5;
		servers.forEach((s, y) => {
			for (let x = 0; x < n; x++) if (broken.has(`${s.name}|${x}`)) context.strokeRect(this.gutter + (x + 0.5) / n * right - w / 2, RULER + y * this.row + 0.5, w, this.row - 1);
		});
	}

	place(e) {
		const rect = this.canvas.getBoundingClientRect(), x = e.clientX - rect.left, y = e.clientY - rect.top;
		return { x: Math.max(this.gutter, x), left: x < this.gutter, server: Math.max(0, Math.min(this.data.servers.length - 1, Math.floor((y - RULER) / this.row))), index: Math.max(0, Math.min(this.data.n - 1, Math.floor((x - this.gutter) / (this.width - this.gutter) * this.data.n))) };
	}

	down(e) {
		if (!this.data) return;
		const p = this.place(e);
		this.drag = { x: p.x, to: p.x, left: p.left };
		this.canvas.setPointerCapture(e.pointerId);
	}

	move(e) {
		if (!this.data) return;
		const p = this.place(e);
		if (this.drag) this.drag.to = p.x;
		this.point(p);
	}

	up(e) {
		const drag = this.drag, p = this.place(e);
		this.drag = null;
		if (drag && Math.abs(drag.to - drag.x) > 4 && !drag.left) this.brush(Math.min(drag.x, drag.to), Math.max(drag.x, drag.to));
		else this.onServer(this.data.servers[p.server].name);
		this.draw();
	}

	wheel(e) {
		if (!this.data || !(e.ctrlKey || e.metaKey)) return;
		const next = (this.turned ?? this.axis).zoom(wheelFactor(e), Math.max(0, e.offsetX - this.gutter));
		this.turned = next;
		clearTimeout(this.rests);
		this.rests = setTimeout(() => { this.turned = null; this.onBrush(next.moment(next.from), next.moment(next.to), "wheel"); }, RESTED);
		e.preventDefault();
	}

	brush(a, b) { this.onBrush(this.axis.moment(this.axis.at(a - this.gutter)), this.axis.moment(this.axis.at(b - this.gutter))); }

	point(p) {
		this.cursor = p && !p.left ? p : null;
		this.draw();
		if (this.cursor) this.onCell(this.data.servers[p.server], p.index);
	}

	moment(index) { return this.data.origin + BigInt(Math.round(index * this.data.step)); }

	// Arrows move a cell, Enter chooses its server, shift with left and right a range.
	key(e) {
		if (!this.data) return;
		const c = this.cursor ?? { server: 0, index: 0 }, by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], PageUp: [0, -20], PageDown: [0, 20] }[e.key];
		if (by) {
			const next = { server: Math.max(0, Math.min(this.data.servers.length - 1, c.server + by[0])), index: Math.max(0, Math.min(this.data.n - 1, c.index + by[1])) };
			if (e.shiftKey) this.held ??= c.index;
			else this.held = undefined;
			this.point(next);
		} else if (e.key === "Enter" && this.held !== undefined && this.held !== c.index) {
			const [a, b] = [Math.min(this.held, c.index), Math.max(this.held, c.index)];
			this.held = undefined;
			this.onBrush(this.moment(a), this.moment(b + 1));
		} else if (e.key === "Enter") {
			this.onServer(this.data.servers[c.server].name);
		} else {
			return;
		}
		e.preventDefault();
		e.stopPropagation();
	}
}

