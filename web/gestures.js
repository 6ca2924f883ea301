// Mouse and fingers on a canvas that has an axis: dragging chooses an interval, with shift, the middle button or a finger it
// pans; the wheel zooms (over what scrolls itself only with Ctrl), two fingers do.
const CLICK = 4; // px

// How much one turn of the wheel zooms.
export const wheelFactor = (e) => Math.exp(Math.max(-1, Math.min(1, e.deltaY / 240)));

// Ctrl + wheel over a curve (uPlot): it moves at once, and is asked for again, onZoom(from, to) in s, when the wheel rests.
const RESTED = 200; // ms
export function wheelZoom(plot, onZoom) {
	let timer = null;
	plot.over.addEventListener("wheel", (e) => {
		if (!e.ctrlKey && !e.metaKey) return;
		const { min, max } = plot.scales.x, at = plot.posToVal(e.offsetX, "x"), factor = wheelFactor(e);
		plot.setScale("x", { min: at - (at - min) * factor, max: at + (max - at) * factor });
		clearTimeout(timer);
		timer = setTimeout(() => onZoom(plot.scales.x.min, plot.scales.x.max), RESTED);
		e.preventDefault();
	}, { passive: false });
}

// { axis(), moveTo(axis), click(event), hover(event or null), brush(left, width), scrolls }
export function gestures(canvas, { axis, moveTo, click, hover, brush, scrolls }) {
	const pointers = new Map();
	let drag = null, pinch = null;

	canvas.addEventListener("wheel", (e) => {
		if (!axis()) return;
		if (e.ctrlKey || e.metaKey || (!scrolls && !e.shiftKey)) moveTo(axis().zoom(wheelFactor(e), e.offsetX));
		else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) moveTo(axis().pan((e.deltaX || e.deltaY) / axis().width * axis().span));
		else return;
		e.preventDefault();
	}, { passive: false });

	canvas.addEventListener("pointerdown", (e) => {
		if (!axis() || e.button > 1) return;
		canvas.setPointerCapture(e.pointerId);
		pointers.set(e.pointerId, e.offsetX);
		const [a, b] = [...pointers.values()];
		pinch = pointers.size === 2 ? { axis: axis(), a, b } : null;
		drag = pinch ? null : { x: e.offsetX, axis: axis(), moved: false, pans: e.shiftKey || e.button === 1 || e.pointerType === "touch" };
	});

	canvas.addEventListener("pointermove", (e) => {
		if (!axis()) return;
		if (pointers.has(e.pointerId)) pointers.set(e.pointerId, e.offsetX);
		if (pinch && pointers.size === 2) return twoFingers();
		if (!drag) return hover(e);
		drag.moved ||= Math.abs(e.offsetX - drag.x) >= CLICK;
		if (!drag.moved) return;
		hover(null);
		const [left, right] = [drag.x, e.offsetX].sort((a, b) => a - b).map((x) => Math.max(0, Math.min(axis().width, x)));
		if (drag.pans) moveTo(drag.axis.pan((drag.x - e.offsetX) / axis().width * axis().span));
		else brush(left, right - left);
	});

	function twoFingers() {
		const [a, b] = [...pointers.values()], was = Math.max(8, Math.abs(pinch.a - pinch.b)), is = Math.max(8, Math.abs(a - b));
		const middle = (pinch.a + pinch.b) / 2, zoomed = pinch.axis.zoom(was / is, middle);
		moveTo(zoomed.pan(pinch.axis.at(middle) - zoomed.at((a + b) / 2)));
	}

	function release(e) {
		pointers.delete(e.pointerId);
		if (pinch) {
			if (!pointers.size) pinch = null;
			return;
		}
		const d = drag;
		drag = null;
		brush(0, 0);
		if (!d || e.type === "pointercancel" || (d.moved && d.pans)) return;
		if (d.moved) moveTo(axis().within(...[d.x, e.offsetX].map((x) => axis().at(x)).sort((a, b) => a - b)));
		else click(e);
	}
	canvas.addEventListener("pointerup", release);
	canvas.addEventListener("pointercancel", release);
	canvas.addEventListener("pointerleave", () => hover(null));
}
