// The flame graph on a canvas: the root on top, children below, the widest first. Knows nothing of where trees come from.
//
// A tree is { name, total, self, children } and, next to another window's, { base }: nodes there only have total 0.
import { css } from "./dom.js";
import { isDark, sharp } from "./pane.js";

const ROW = 19, LEAST = 2.5, FONT = "12px system-ui, sans-serif", LETTER = 6.4;

export const weight = (n) => Math.max(n.total, n.base ?? 0);

// Colors by name, so that a function looks the same everywhere: the kernel's cooler than programs'. Ink is dark on all of them.
function colour(name, kind) {
	let h = 0;
	for (let i = 0; i < name.length; i++) h = (h * 31 + name.charCodeAt(i)) >>> 0;
	const light = (isDark() ? 58 : 72) + h % 9, kernel = name.endsWith("_[k]");
	if (/^\[.*\]$/.test(name)) return `hsl(265 50% ${light}%)`;
	if (kind === "waits") return `hsl(${kernel ? 185 : 205 + h % 25} ${45 + h % 25}% ${light}%)`;
	return kernel ? `hsl(${170 + h % 25} 45% ${light}%)` : `hsl(${14 + h % 34} ${75 + h % 15}% ${light}%)`;
}

// More than in the other window is red, less is blue; the stronger, the more of the whole it is.
function changed(n, whole) {
	const change = (n.total - n.base) / whole, strength = Math.min(1, Math.sqrt(Math.abs(change)) * 2.2);
	const light = (isDark() ? 80 : 94) - strength * 24;
	return Math.abs(change) < 0.0005 ? `hsl(0 0% ${isDark() ? 68 : 88}%)` : `hsl(${change > 0 ? 8 : 215} ${55 + 35 * strength}% ${light}%)`;
}

export class FlameGraph {
	constructor(canvas, { onZoom, onSelect }) {
		Object.assign(this, { canvas, onZoom, onSelect, tree: null, kind: "cpu", search: "", boxes: [], rows: 0 });
		canvas.addEventListener("click", (e) => { const b = this.boxAt(e); if (b) { this.select(b.path); onZoom(b.path); } });
		canvas.addEventListener("mousemove", (e) => { const b = this.boxAt(e); canvas.style.cursor = b ? "pointer" : "default"; this.hover(b); });
		canvas.addEventListener("mouseleave", () => this.hover(null));
		canvas.addEventListener("keydown", (e) => this.key(e));
	}

	// path: names from the root's child down. Returns the nodes from the root to its end, or to where the path ends.
	nodesOf(path) {
		const nodes = [this.tree];
		for (const name of path) {
			const next = nodes.at(-1).children.find((c) => c.name === name);
			if (!next) break;
			nodes.push(next);
		}
		return nodes;
	}

	show(tree, { kind, zoom, search, selected }) {
		Object.assign(this, { tree, kind, search: (search || "").toLowerCase(), zoom });
		this.zoomed = tree ? this.nodesOf(zoom) : [];
		this.selected = selected ?? zoom;
		this.lay();
		this.draw();
	}

	lay() {
		const width = this.canvas.parentElement.clientWidth || 600;
		this.width = width;
		this.boxes = [];
		this.rows = 0;
		if (!this.tree) return;
		const names = this.zoomed.slice(1).map((n) => n.name);
		this.zoomed.forEach((n, depth) => this.boxes.push({ node: n, x: 0, width, row: depth, path: names.slice(0, depth), above: depth < this.zoomed.length - 1 }));
		const deepest = this.zoomed.length - 1;
		this.layChildren(this.zoomed.at(-1), names, 0, width, deepest + 1);
		this.rows = 1 + this.boxes.reduce((most, b) => Math.max(most, b.row), 0);
	}

	layChildren(node, path, x, width, row) {
		const whole = Math.max(weight(node), node.children.reduce((n, c) => n + weight(c), 0));
		for (const c of [...node.children].sort((a, b) => weight(b) - weight(a))) {
			const w = weight(c) / whole * width;
			if (w < LEAST) return; // those that follow are narrower
			const box = { node: c, x, width: w, row, path: [...path, c.name], above: false };
			this.boxes.push(box);
			this.layChildren(c, box.path, x, w, row + 1);
			x += w;
		}
	}

	matches(n) { return this.search && n.name?.toLowerCase().includes(this.search); }

	draw() {
		const context = sharp(this.canvas, this.width, Math.max(1, this.rows) * ROW);
		const whole = this.tree ? weight(this.tree) : 1;
		context.clearRect(0, 0, this.width, this.rows * ROW);
		context.font = FONT;
		context.textBaseline = "middle";
		for (const b of this.boxes) this.drawBox(context, b, whole);
	}

	drawBox(context, b, whole) {
		const y = b.row * ROW, n = b.node, selected = this.selected?.join(";") === b.path.join(";");
		const found = this.matches(n), faded = this.search && !found;
		context.globalAlpha = faded ? 0.35 : b.above ? 0.75 : 1;
		context.fillStyle = found ? "#d946ef" : n.base !== undefined ? changed(n, whole) : n.name === null ? (isDark() ? "#8a929c" : "#d5d9de") : colour(n.name, this.kind);
		context.fillRect(b.x, y, Math.max(1, b.width - 0.6), ROW - 1);
		if (selected || b === this.hovered) {
			context.globalAlpha = 1;
			context.strokeStyle = css("--accent");
			context.lineWidth = selected ? 2.5 : 1.5;
			context.strokeRect(b.x + 1, y + 1, Math.max(1, b.width - 2.6), ROW - 3);
		}
		if (b.width > 24) {
			const text = n.name ?? "all", most = Math.floor((b.width - 6) / LETTER);
			context.globalAlpha = faded ? 0.8 : 1;
			context.fillStyle = found ? "#fff" : faded ? css("--ink") : "#14171a";
			context.save();
			context.beginPath();
			context.rect(b.x, y, b.width - 2, ROW);
			context.clip();
			context.fillText(text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text, b.x + 3, y + ROW / 2);
			context.restore();
		}
		context.globalAlpha = 1;
	}

	boxAt(e) {
		const rect = this.canvas.getBoundingClientRect(), x = e.clientX - rect.left, row = Math.floor((e.clientY - rect.top) / ROW);
		return this.boxes.find((b) => b.row === row && x >= b.x && x < b.x + b.width);
	}

	hover(b) {
		if (b === this.hovered) return;
		this.hovered = b;
		this.draw();
		this.onSelect(b ? b.node : this.nodesOf(this.selected ?? []).at(-1), b ? b.path : this.selected);
	}

	select(path) {
		this.selected = path;
		this.draw();
		this.onSelect(this.nodesOf(path).at(-1), path);
	}

	// Arrows go to parent, widest child, neighbors; Enter zooms; Escape goes out again.
	key(e) {
		const path = this.selected ?? [], nodes = this.tree ? this.nodesOf(path) : [], siblings = nodes.length > 1 ? [...nodes.at(-2).children].sort((a, b) => weight(b) - weight(a)) : [];
		const at = siblings.indexOf(nodes.at(-1)), children = nodes.length ? [...nodes.at(-1).children].sort((a, b) => weight(b) - weight(a)) : [];
		if (e.key === "ArrowUp" && path.length) this.select(path.slice(0, -1));
		else if (e.key === "ArrowDown" && children.length) this.select([...path, children[0].name]);
		else if (e.key === "ArrowRight" && siblings[at + 1]) this.select([...path.slice(0, -1), siblings[at + 1].name]);
		else if (e.key === "ArrowLeft" && siblings[at - 1]) this.select([...path.slice(0, -1), siblings[at - 1].name]);
		else if (e.key === "Enter" || e.key === " ") this.onZoom(path);
		else if (e.key === "Escape" || e.key === "0") this.onZoom([]);
		else return;
		e.preventDefault();
		e.stopPropagation();
	}
}
