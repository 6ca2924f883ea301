// Values as people read them, by their unit.
const scale = (value, base, names, step = Infinity) => {
	let i = 0;
	let v = Math.abs(value);
	while (v >= base && i < names.length - 1) {
		v /= base;
		i++;
	}
	const digits = Number.isFinite(step) ? Math.max(0, Math.min(3, Math.ceil(-Math.log10(step / base ** i) - 1e-9))) : 0;
	const text = digits > 0 ? v.toFixed(digits) : v >= 100 || (i === 0 && Number.isInteger(v)) ? v.toFixed(0) : v >= 10 ? v.toFixed(v % 1 ? 1 : 0) : v.toFixed(1);
	return `${value < 0 ? "-" : ""}${text}${names[i]}`;
};

const span = (ns) => (ns >= 1e9 ? `${(ns / 1e9).toFixed(1)} s` : ns >= 1e6 ? `${(ns / 1e6).toFixed(1)} ms` : `${(ns / 1e3).toFixed(0)} µs`);

// `step`: between two ticks of an axis, so that they read differently.
export function formatValue(value, unit, step = Infinity) {
	if (value === null || value === undefined || Number.isNaN(value)) return "?";
	switch (unit) {
	case "ns/s": return `${(value / 1e7).toFixed(Math.abs(value) >= 1e8 && step >= 1e7 ? 0 : 1)} %`;
	case "ns": return span(value);
	case "bytes": return scale(value, 1000, [" B", " kB", " MB", " GB", " TB"], step);
	case "bytes/s": return scale(value, 1000, [" B/s", " kB/s", " MB/s", " GB/s"], step);
	case "count/s": return scale(value, 1000, ["/s", " k/s", " M/s"], step);
	case "permille": return `${(value / 10).toFixed(1)} %`;
	case "millidegree": return `${(value / 1000).toFixed(0)} °C`;
	default: return scale(value, 1000, ["", " k", " M", " G"], step);
	}
}

const pad = (n) => String(n).padStart(2, "0");
export function localTime(moment, withDay = true) {
	const d = new Date(moment);
	if (Number.isNaN(d.getTime())) return "";
	const time = `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
	return withDay ? `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())} ${time}` : time;
}

export const spanSeconds = (text) => {
	const m = /^(\d+)\s*(s|min|h|d)$/.exec(text);
	return m ? Number(m[1]) * { s: 1, min: 60, h: 3600, d: 86400 }[m[2]] : 3600;
};
