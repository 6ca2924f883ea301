// Servers x time x value as a surface. Loaded, with its library, only when opened.
import { BufferGeometry, Color, DoubleSide, Float32BufferAttribute, Line, LineBasicMaterial, Mesh, MeshLambertMaterial, AmbientLight, DirectionalLight, PerspectiveCamera, Scene, Vector3, WebGLRenderer } from "./three.module.min.js";
import { css, element } from "./dom.js";
import { localTime } from "./format.js";
import { heatColour } from "./heatmap.js";

const WIDE = 160, DEEP = 100, HIGH = 45; // of the surface
const SETTLED = 300; // ms without a turn until the address follows
const APART = 6; // from the surface to the names of its sides
const NAMES = 8, TIMES = 5, TIMES_NARROW = 3, VALUES = 3; // ticks at most
const DAY = 86400e9; // ns
const POINTS = 400; // at most so many along the time: more would be smaller than a pixel

// What a place in the address says of from where it is looked at: "turn,tilt,distance".
const numbers = (text) => { const n = (text ?? "").split(",").map(Number); return n.length === 3 && n.every(Number.isFinite) ? n : [-0.5, 0.75, 215]; };

export class Surface {
	// onTurn(text): it is looked at from somewhere else now
	constructor(holder, from, onTurn) {
		const canvas = element("canvas", { tabindex: 0, role: "application", "aria-roledescription": "surface", "aria-describedby": "surface-said" });
		this.said = element("p", { id: "surface-said", class: "hint" });
		this.marks = element("div", { class: "surface-marks", "aria-hidden": "true" });
		holder.replaceChildren(element("div", { class: "surface-drawing" }, canvas, this.marks), this.said);
		Object.assign(this, { holder, canvas, onTurn, ticks: [] });
		this.lookFrom(from);
		this.renderer = new WebGLRenderer({ canvas, antialias: true, alpha: true });
		this.scene = new Scene();
		this.camera = new PerspectiveCamera(40, 2, 1, 2000);
		const sun = new DirectionalLight(0xffffff, 1.6);
		sun.position.set(-60, 140, 80);
		this.scene.add(new AmbientLight(0xffffff, 1.7), sun);
		canvas.addEventListener("pointerdown", (e) => { this.held = [e.clientX, e.clientY]; canvas.setPointerCapture(e.pointerId); });
		canvas.addEventListener("pointermove", (e) => this.drag(e));
		canvas.addEventListener("pointerup", () => { this.held = null; this.tell(); });
		canvas.addEventListener("wheel", (e) => { this.far = Math.max(90, Math.min(500, this.far * (e.deltaY > 0 ? 1.08 : 0.93))); this.draw(); this.tell(); e.preventDefault(); }, { passive: false });
		canvas.addEventListener("keydown", (e) => this.key(e));
		this.resize = new ResizeObserver(() => this.draw());
		this.resize.observe(holder);
	}

	lookFrom(text) { [this.turn, this.tilt, this.far] = numbers(text); }
	tell() {
		clearTimeout(this.telling);
		this.telling = setTimeout(() => this.onTurn([this.turn, this.tilt, this.far].map((x) => Number(x.toFixed(3))).join(",")), SETTLED);
	}

	drag(e) {
		if (!this.held) return;
		this.turn -= (e.clientX - this.held[0]) / 200;
		this.tilt = Math.max(0.1, Math.min(1.5, this.tilt + (e.clientY - this.held[1]) / 200));
		this.held = [e.clientX, e.clientY];
		this.draw();
	}

	key(e) {
		const by = { ArrowLeft: [0.1, 0], ArrowRight: [-0.1, 0], ArrowUp: [0, 0.08], ArrowDown: [0, -0.08] }[e.key];
		if (by) {
			this.turn += by[0];
			this.tilt = Math.max(0.1, Math.min(1.5, this.tilt + by[1]));
		} else if (e.key === "+" || e.key === "-") {
			this.far = Math.max(90, Math.min(500, this.far * (e.key === "+" ? 0.9 : 1.1)));
		} else {
			return;
		}
		e.preventDefault();
		e.stopPropagation();
		this.draw();
		this.tell();
	}

	// The value at a place of the grid: of several moments that fall together the highest.
	height(d, server, i, n) {
		const from = Math.floor(i / n * d.n), to = Math.max(from + 1, Math.floor((i + 1) / n * d.n));
		let most = null;
		for (let k = from; k < to; k++) {
			const v = d.servers[server].values[k];
			if (v !== null && v !== undefined && (most === null || v > most)) most = v;
		}
		return most;
	}

	// What stands along the sides: { text, side, share } of the way along it.
	ticksOf(d, { format, chosen }) {
		const rows = d.servers.length, every = Math.ceil(rows / NAMES), narrow = this.holder.clientWidth < 600, n = narrow ? TIMES_NARROW : TIMES;
		const share = (i, of) => (of > 1 ? i / (of - 1) : 0.5);
		const times = [...Array(n).keys()].map((i) => ({ side: "time", share: share(i, n), text: localTime(Number(d.origin / 1000000n) + share(i, n) * d.n * d.step / 1e6, d.n * d.step > DAY) }));
		const values = d.high > d.low ? [...Array(VALUES).keys()].map((i) => ({ side: "value", share: share(i, VALUES), text: format(d.low + share(i, VALUES) * (d.high - d.low)) })) : [];
		const names = d.servers.map((s, i) => ({ side: "server", share: share(i, rows), text: s.name, chosen: s.name === chosen })).filter((t, i) => t.chosen || (i % every === 0 && !d.servers.some((s, k) => s.name === chosen && Math.abs(i - k) < every / 2)));
		return [...times, ...values, ...names];
	}

	// Times stand in front, servers on the side that is nearer, values at the corner of the front on the other side.
	placeMarks(width, height) {
		const near = Math.sign(this.camera.position.x) || 1, front = Math.sign(this.camera.position.z) || 1;
		this.ticks.forEach(({ side, share, element: mark }) => {
			const at = side === "time" ? [(share - 0.5) * WIDE, 0, front * (DEEP / 2 + APART)] : side === "server" ? [near * (WIDE / 2 + APART), 0, (share - 0.5) * DEEP] : [-near * (WIDE / 2 + APART / 2), share * HIGH, front * (DEEP / 2)];
			const seen = new Vector3(...at).project(this.camera), align = side === "time" ? -50 : (side === "server") === near > 0 ? 0 : -100;
			mark.style.transform = `translate(${((seen.x + 1) / 2 * width).toFixed(1)}px, ${((1 - seen.y) / 2 * height).toFixed(1)}px) translate(${align}%, ${side === "time" ? 0 : -50}%)`;
		});
	}

	// The sides of the box in which the surface lies: its floor, and its edges up to the highest value.
	frame() {
		const corners = [[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]].map(([a, b]) => [a * WIDE / 2, b * DEEP / 2]);
		const box = new BufferGeometry();
		box.setAttribute("position", new Float32BufferAttribute(corners.flatMap(([a, b]) => [a, 0, b, a, HIGH, b, a, 0, b]), 3));
		return new Line(box, new LineBasicMaterial({ color: new Color(css("--line")) }));
	}

	show(d, { format, counter, chosen }) {
		const n = Math.min(POINTS, d.n), rows = d.servers.length, scale = d.high > d.low ? 1 / (d.high - d.low) : 0;
		const places = [], colours = [], index = [], colour = new Color();
		const x = (i) => (i / Math.max(1, n - 1) - 0.5) * WIDE, z = (s) => (s / Math.max(1, rows - 1) - 0.5) * DEEP;
		for (let s = 0; s < rows; s++)
			for (let i = 0; i < n; i++) {
				const v = this.height(d, s, i, n), share = v === null ? 0 : (v - d.low) * scale;
				places.push(x(i), share * HIGH, z(s));
				colour.setRGB(...heatColour(share).map((c) => c / 255), "srgb");
				colours.push(colour.r, colour.g, colour.b);
				if (s && i) index.push(s * n + i, s * n + i - 1, (s - 1) * n + i, (s - 1) * n + i, s * n + i - 1, (s - 1) * n + i - 1);
			}
		const geometry = new BufferGeometry();
		geometry.setAttribute("position", new Float32BufferAttribute(places, 3));
		geometry.setAttribute("color", new Float32BufferAttribute(colours, 3));
		geometry.setIndex(index);
		geometry.computeVertexNormals();
		this.clear();
		this.mesh = new Mesh(geometry, new MeshLambertMaterial({ vertexColors: true, side: DoubleSide }));
		this.box = this.frame();
		this.scene.add(this.mesh, this.box);
		this.ticks = this.ticksOf(d, { format, chosen }).map((t) => ({ ...t, element: element("span", { class: t.chosen ? "chosen" : null }, t.text) }));
		this.marks.replaceChildren(...this.ticks.map((t) => t.element));
		const at = d.servers.findIndex((s) => s.name === chosen);
		if (at >= 0) {
			const line = new BufferGeometry();
			line.setAttribute("position", new Float32BufferAttribute([...Array(n).keys()].flatMap((i) => [x(i), places[3 * (at * n + i) + 1] + 0.6, z(at)]), 3));
			this.line = new Line(line, new LineBasicMaterial({ color: new Color(css("--bar")) }));
			this.scene.add(this.line);
		}
		this.canvas.setAttribute("aria-label", `${counter} as a surface: ${rows} servers, ${d.n} moments`);
		this.said.textContent = `${counter}, ${format(d.low)} to ${format(d.high)}. Left to right: ${localTime(Number(d.origin / 1000000n))} to ${localTime(Number(d.origin / 1000000n) + d.n * d.step / 1e6)}; back to front: ${d.servers[0].name} to ${d.servers.at(-1).name}. Drag or arrows turn it, wheel or + and - come closer.`;
		this.draw();
	}

	draw() {
		const width = this.holder.clientWidth || 600, height = Math.min(460, Math.max(260, width * 0.5));
		this.renderer.setPixelRatio(Math.min(2, devicePixelRatio || 1));
		this.renderer.setSize(width, height);
		this.camera.aspect = width / height;
		this.camera.updateProjectionMatrix();
		const far = this.far * (width < 600 ? 1.5 : 1);
		this.camera.position.set(far * Math.cos(this.tilt) * Math.sin(-this.turn * 0.6), far * Math.sin(this.tilt), far * Math.cos(this.tilt) * Math.cos(this.turn * 0.6));
		this.camera.lookAt(0, HIGH * 0.25, 0);
		this.renderer.render(this.scene, this.camera);
		this.camera.updateMatrixWorld();
		this.placeMarks(width, height);
	}

	clear() {
		for (const part of [this.mesh, this.line, this.box]) {
			if (!part) continue;
			this.scene.remove(part);
			part.geometry.dispose();
			part.material.dispose();
		}
		this.mesh = this.line = this.box = null;
	}

	end() {
		clearTimeout(this.telling);
		this.clear();
		this.resize.disconnect();
		this.renderer.dispose();
		this.holder.replaceChildren();
	}
}
