// One time axis for every drawing.
//
// Moments are BigInt nanoseconds since the epoch: a double of seconds would be off by 240 ns, and the timeline zooms to
// microseconds. Within a drawing, times are numbers: nanoseconds since `origin`.
const SECOND = 1000000000n;

// "1790000000.123456789" -> 1790000000123456789n; null for anything else. No digit is lost.
export function parseMoment(text) {
	const m = /^(\d+)(?:\.(\d{1,9}))?$/.exec(text ?? "");
	return m ? BigInt(m[1]) * SECOND + BigInt((m[2] ?? "").padEnd(9, "0")) : null;
}

// "1790000000.123456789", without needless zeros: for the address and for questions (with @ in front).
export function formatMoment(ns) {
	const rest = String(ns % SECOND).padStart(9, "0").replace(/0+$/, "");
	return `${ns / SECOND}${rest && `.${rest}`}`;
}

// An RFC 3339 time as the interface writes it, to the nanosecond if it has them.
export function momentOf(text) {
	const m = /^(.*?)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(text);
	return m ? BigInt(Date.parse(m[1] + m[3])) * 1000000n + BigInt((m[2] ?? "").padEnd(9, "0")) : null;
}

export function formatSpan(ns) {
	const [unit, name] = ns >= 1e9 ? [1e9, "s"] : ns >= 1e6 ? [1e6, "ms"] : ns >= 1e3 ? [1e3, "µs"] : [1, "ns"];
	const value = ns / unit;
	return `${value >= 100 || unit === 1 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)} ${name}`;
}

const STEPS = [1, 2, 5];
function stepFor(ns) {
	for (let decade = 1; decade < 1e9; decade *= 10) for (const s of STEPS) if (s * decade >= ns) return s * decade;
	const seconds = ns / 1e9;
	return 1e9 * ([1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200].find((s) => s >= seconds) ?? 86400 * Math.ceil(seconds / 86400));
}

const pad = (n, digits = 2) => String(n).padStart(digits, "0");

// A visible range [from, to) within limits, and where it lies on `width` pixels. Never changed: zoom and pan give another.
export class Axis {
	constructor(origin, from, to, width, limits = null) {
		Object.assign(this, { origin, from, to, width, limits });
	}

	get span() { return this.to - this.from; }
	x(t) { return (t - this.from) / this.span * this.width; }
	at(x) { return this.from + x / this.width * this.span; }
	moment(t) { return this.origin + BigInt(Math.round(t)); }
	offset(moment) { return Number(moment - this.origin); }

	// The same span elsewhere where the limits are met; never narrower than `least` ns.
	within(from, to, least = 100) {
		const l = this.limits;
		let span = Math.max(least, to - from);
		if (l) span = Math.min(span, l.to - l.from);
		const middle = (from + to) / 2;
		let begin = span === to - from ? from : middle - span / 2;
		if (l) begin = Math.max(l.from, Math.min(l.to - span, begin));
		return new Axis(this.origin, begin, begin + span, this.width, l);
	}
	zoom(factor, x = this.width / 2) {
		const t = this.at(x);
		return this.within(t - (t - this.from) * factor, t + (this.to - t) * factor);
	}
	pan(ns) { return this.within(this.from + ns, this.to + ns); }

	// Round moments of the local clock, about one every `space` pixels: [{ t, label }], the first with its whole time.
	ticks(space = 110) {
		const step = stepFor(this.span * space / this.width);
		const day = step >= 86400e9, zone = BigInt(new Date(Number(this.origin / 1000000n)).getTimezoneOffset()) * 60n * SECOND;
		const local = this.origin - zone, out = [];
		let k = (local + BigInt(Math.ceil(this.from)) + BigInt(step) - 1n) / BigInt(step);
		for (;; k++) {
			const t = Number(k * BigInt(step) - local);
			if (t > this.to) return out;
			out.push({ t, label: this.#label(this.origin + BigInt(t), step, day, out.length === 0) });
		}
	}
	#label(moment, step, day, whole) {
		const d = new Date(Number(moment / 1000000n)), ns = Number(moment % SECOND);
		if (day) return `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())}`;
		const clock = `${pad(d.getHours())}:${pad(d.getMinutes())}`;
		if (step >= 60e9) return clock;
		if (step >= 1e9) return `${clock}:${pad(d.getSeconds())}`;
		const digits = step >= 1e8 ? 1 : step >= 1e7 ? 2 : step >= 1e6 ? 3 : step >= 1e3 ? 6 : 9;
		const fraction = pad(ns, 9).slice(0, digits);
		return whole ? `${clock}:${pad(d.getSeconds())}.${fraction}` : `${pad(d.getSeconds())}.${fraction}`;
	}
}

// The ruler on a canvas: ticks and their words from `left` on, over `height` pixels. `colors`: { ink, line }.
export function drawRuler(context, axis, { left = 0, height, colours, font = "11px system-ui" }) {
	context.save();
	context.font = font;
	context.textBaseline = "middle";
	for (const { t, label } of axis.ticks()) {
		const x = left + Math.round(axis.x(t)) + 0.5;
		context.strokeStyle = colours.line;
		context.beginPath();
		context.moveTo(x, 0);
		context.lineTo(x, height);
		context.stroke();
		context.fillStyle = colours.ink;
		context.fillText(label, x + 4, height / 2);
	}
	context.restore();
}
