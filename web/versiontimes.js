// The versions of a package over time: the mean of each one's requests as a line, and when something was deployed (whyslow.spans.groups/1).
import { Axis, formatSpan, momentOf } from "./axis.js";
import { svg } from "./dom.js";
import { localTime } from "./format.js";

const HEIGHT = 180, LEFT = 64, RIGHT = 110, TOP = 30, BOTTOM = 20, MOST = 12;
const DASHES = ["", "7 3", "2 3", "9 3 2 3", "1 5", "12 4"]; // read without colors, too
const STEPS = 3;

const ends = (t) => momentOf(t.from) + BigInt(t.mean_ns.length) * BigInt(t.step_ns);
const label = (d) => `${d.package} ${d.version}`;

// A line is broken where the version had no requests; one slot alone is a short line.
function path(t, x, y) {
	const from = momentOf(t.from), parts = [];
	t.mean_ns.forEach((mean, i) => {
		if (mean === null) return;
		const begin = from + BigInt(i) * BigInt(t.step_ns), middle = x(begin + BigInt(t.step_ns) / 2n), alone = t.mean_ns[i - 1] == null && t.mean_ns[i + 1] == null;
		parts.push(alone ? `M${x(begin)} ${y(mean)}H${x(begin + BigInt(t.step_ns))}` : `${t.mean_ns[i - 1] == null ? "M" : "L"}${middle} ${y(mean)}`);
	});
	return parts.join("");
}

// Names at the right edge, each at its line's end, moved down where another one stands there.
function places(lines, y) {
	const wanted = lines.map((t, i) => ({ i, y: y(t.mean_ns.findLast((v) => v !== null)) })).sort((a, b) => a.y - b.y);
	wanted.forEach((w, k) => { if (k && w.y < wanted[k - 1].y + 13) w.y = wanted[k - 1].y + 13; });
	const below = Math.max(0, (wanted.at(-1)?.y ?? 0) + 8 - HEIGHT); // then all of them move up
	for (const w of wanted) w.y -= below;
	return new Map(wanted.map((w) => [w.i, w.y]));
}

// times: of one package and bucket; deployments: all that are known. Chosen: a version.
export function versionTimes(times, deployments, chosen, width) {
	const lines = [...times].sort((a, b) => (b.version === chosen) - (a.version === chosen) || b.requests.reduce((x, y) => x + y, 0) - a.requests.reduce((x, y) => x + y, 0)).slice(0, MOST);
	const first = lines.map((t) => momentOf(t.from)).reduce((a, b) => (a < b ? a : b)), end = lines.map(ends).reduce((a, b) => (a > b ? a : b));
	// what was deployed a little before its first request belongs to the picture
	const there = deployments.map((d) => ({ ...d, at: momentOf(d.time) })).filter((d) => d.at >= first - (end - first) / 20n && d.at <= end);
	const origin = there.reduce((a, d) => (a < d.at ? a : d.at), first);
	const most = Math.max(1, ...lines.flatMap((t) => t.mean_ns)), plot = Math.max(100, width - LEFT - RIGHT), axis = new Axis(origin, 0, Number(end - origin), plot);
	const x = (moment) => Math.round(10 * (LEFT + axis.x(Number(moment - origin)))) / 10, y = (ns) => Math.round(10 * (HEIGHT - BOTTOM - ns / most * (HEIGHT - TOP - BOTTOM))) / 10;
	const words = `${lines[0].package}: ${lines.map((t) => `${t.version} from ${localTime(t.from)}, at last ${formatSpan(t.mean_ns.findLast((v) => v !== null))}`).join("; ")}${there.length ? `; deployed: ${there.map((d) => `${label(d)} at ${localTime(d.time)}`).join(", ")}` : ""}`;
	const root = svg("svg", { class: "version-times", width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": words });
	for (let i = 0; i <= STEPS; i++) root.append(svg("line", { class: "rule", x1: LEFT, x2: LEFT + plot, y1: y(most * i / STEPS), y2: y(most * i / STEPS) }), svg("text", { class: "faint", x: LEFT - 5, y: y(most * i / STEPS) + 4, "text-anchor": "end" }, i ? formatSpan(most * i / STEPS) : "0"));
	for (const tick of axis.ticks()) root.append(svg("text", { class: "faint", x: LEFT + axis.x(tick.t), y: HEIGHT - 5 }, tick.label));
	let free = 0;
	for (const d of there) {
		const at = x(d.at), mine = lines[0].package === d.package;
		root.append(svg("line", { class: mine ? "deployed" : "deployed other", x1: at, x2: at, y1: TOP - 12, y2: HEIGHT - BOTTOM }, svg("title", {}, `${label(d)}${d.host ? ` at ${d.host}` : ""}, ${localTime(d.time)}`)));
		if (at < free) continue;
		root.append(svg("text", { class: mine ? "" : "faint", x: at + 3, y: TOP - 14 }, label(d)));
		free = at + 3 + 6.6 * label(d).length;
	}
	const names = places(lines, y);
	lines.forEach((t, i) => root.append(svg("path", { class: t.version === chosen ? "version chosen" : "version", d: path(t, x, y), "stroke-dasharray": DASHES[i % DASHES.length] }, svg("title", {}, t.version)),
		svg("text", { x: LEFT + plot + 6, y: names.get(i) + 4 }, t.version.length > 14 ? `${t.version.slice(0, 13)}…` : t.version)));
	return root;
}
