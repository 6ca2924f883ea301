// Traced requests: buckets, versions of each with Z-scores, the statistical call forest with the critical path, single requests,
// and two versions side by side (whyslow.spans.*/1).
import { ask, save } from "./api.js";
import { formatSpan } from "./axis.js";
import { descentPanel } from "./descent.js";
import { choosableTable, element, loadStyle, oddBar, replaceContents, svg } from "./dom.js";
import { localTime } from "./format.js";
import { check, choice, emptyState, field, keys, link, questions, redrawn, showsNothing, statusLine } from "./pane.js";
import { setState, state } from "./state.js";
import { LatencyMap } from "./latencymap.js";
import { versionTimes } from "./versiontimes.js";
import { drawWaterfall } from "./waterfall.js";

const SURE = 0.05; // q
let parts = null, question = null, whyQuestion = null, forest = null, groups = null, exemplars = null, comparison = null, whyFor = null;
let map = null, mapQuestion = null, mapFor = null, selected = null;

const share = (x) => `${(100 * x).toFixed(Math.abs(x) < 0.1 ? 1 : 0)} %`;
const span = (ns) => (ns === null || ns === undefined ? "" : formatSpan(ns));
const signed = (ns) => `${ns < 0 ? "-" : "+"}${formatSpan(Math.abs(ns))}`;
const labelOf = (b) => [...Object.entries(b.values).filter(([, v]) => v !== null).map(([k, v]) => `${k}=${v}`)].join(", ");
const keyOf = (b) => `${Object.entries(b.values).filter(([, v]) => v !== null).map(([k, v]) => `${k}=${v}`).join(",")}|${b.entry}`;
// Its values; with its entry point where that alone tells it from another bucket.
const nameOf = (b) => {
	const alike = forest.buckets.filter((x) => labelOf(x) === labelOf(b)).length > 1;
	return alike || !labelOf(b) ? [labelOf(b), b.entry].filter(Boolean).join(", ") || "all requests" : labelOf(b);
};
// In a table of buckets with the same keys these stand in its head.
const keysOf = (list) => { const all = new Set(list.map((b) => Object.keys(b.values).filter((k) => b.values[k] !== null).join(", "))); return all.size === 1 ? [...all][0] : ""; };
const selection = (key) => { const at = key.indexOf("|"); return { where: key.slice(0, at) || null, entry: key.slice(at + 1) }; };
const packages = (versions) => versions.split(", ").filter((v) => v.includes("="));

// What tells the groups of a bucket apart: packages that are the same everywhere are left out.
function differing(list) {
	const seen = new Map();
	for (const g of list) for (const p of packages(g.versions)) seen.set(p, (seen.get(p) ?? 0) + 1);
	return new Set([...seen].filter(([, n]) => n < list.length).map(([p]) => p));
}
const shortVersions = (versions, set) => packages(versions).filter((p) => set.has(p)).join(", ") || (packages(versions).length ? "the same versions" : versions || "no version given");

const NO_REQUESTS = /nothing is loaded there/;
const showEmpty = () => parts.about.replaceChildren(emptyState("This page shows traced requests: which component became slower, in which environment, since which version. No requests are loaded yet.",
	"whyslow spans load ", "", "traces.json"));

function build(main) {
	loadStyle("/panes.css");
	const holder = (name) => element("div", { class: "waterfall", "data-name": name });
	parts = {
		status: statusLine(), about: element("div", { class: "hint" }), by: field("buckets", "buckets by", { placeholder: "hardware,workload" }),
		method: choice("method", "judged by", [["robust", "robust"], ["sdiag-older", "Z-score against older ones"], ["sdiag-pooled", "Z-score against all others"]]),
		critical: check("critical", "only the critical path", "leave out calls that no caller waited for"),
		buckets: element("div", { class: "scroll", id: "bucket-list" }), versions: element("div", { class: "scroll", id: "version-list" }), package: element("div", { class: "row" }), times: element("div", { id: "version-times" }), forest: element("div", { class: "scroll tall", id: "forest" }),
		which: element("div", { class: "row" }), one: holder("one"), two: holder("two"), differences: element("div", { id: "difference-list" }), descent: descentPanel(), compare: element("div", { id: "comparison" }), pick: element("div", { class: "row" }),
		headline: element("p", { class: "summary", id: "why-headline" }), suspects: element("div", { class: "scroll", id: "suspect-list" }), causes: element("div", { id: "attribute-list" }), whyStatus: statusLine(),
		map: element("div", { class: "heat-holder" }), cell: element("p", { class: "hint", role: "status" }), selected: element("div", { id: "selected-list" }), mapStatus: statusLine(),
		failed: check("failed", "only failed ones", "select the requests of the rectangle that failed"), save: element("button", { type: "button", onclick: saveReport }, "Save the answer as HTML"),
		forestTitle: element("h2", { id: "forest-title" }, "Call forest"), versionTitle: element("h2", { id: "version-title" }, "Versions"),
	};
	const canvas = element("canvas", { tabindex: 0, role: "img", "aria-label": "requests by time and duration" });
	parts.map.append(canvas);
	map = new LatencyMap(canvas, { onSelect: (bounds) => setState(bounds), onCell: (words) => { parts.cell.textContent = words; } });
	mapQuestion = questions(parts.mapStatus, () => { parts.selected.replaceChildren(); });
	redrawn(parts.map, () => selected && map.show(selected.map, state()));
	whyQuestion = questions(parts.whyStatus);
	question = questions(parts.status, (e) => {
		forest = exemplars = comparison = null;
		showsNothing(main, true);
		parts.about.replaceChildren();
		if (NO_REQUESTS.test(e.message)) showEmpty();
		return NO_REQUESTS.test(e.message);
	});
	main.replaceChildren(
		element("section", { class: "toolbar", "aria-label": "what is shown" }, parts.by, parts.method, parts.critical, parts.status, parts.about),
		element("section", { class: "whole", "aria-labelledby": "why-title" }, element("h2", { id: "why-title" }, "Which version made requests slower"), parts.whyStatus, parts.headline, parts.suspects, parts.causes, element("p", {}, parts.save)),
		element("section", { class: "whole", "aria-labelledby": "map-title" }, element("h2", { id: "map-title" }, "Requests by time and duration"),
			element("p", { class: "hint" }, "Draw a rectangle (or: arrows, shift with arrows, Enter) to see what tells these requests from the others. Escape or a double click selects nothing."),
			parts.map, parts.cell, parts.failed, parts.mapStatus, parts.selected),
		element("section", { "aria-labelledby": "bucket-title" }, element("h2", { id: "bucket-title" }, "Buckets"), parts.buckets),
		element("section", { "aria-labelledby": "version-title" }, parts.versionTitle, parts.versions),
		element("section", { class: "whole", "aria-labelledby": "times-title" }, element("h2", { id: "times-title" }, "Versions over time"), parts.package, parts.times),
		element("section", { class: "whole", "aria-labelledby": "forest-title" }, parts.forestTitle, parts.forest),
		element("section", { class: "whole", "aria-labelledby": "compare-title" }, element("h2", { id: "compare-title" }, "Two versions side by side"), parts.pick, parts.compare),
		element("section", { class: "whole", "aria-labelledby": "requests-title" }, element("h2", { id: "requests-title" }, "Requests, span by span"), parts.which, element("div", { class: "beside" }, parts.one, parts.two), parts.differences, parts.descent,
			element("p", { class: "hint" }, "Red is the critical path: what the request waited for. Both have one scale.")));
	redrawn(parts.times, () => forest && groups && drawTimes(state(), bucketOf(state())));
	redrawn(parts.one, () => forest && exemplars && drawRequests(state()));
	keys(main, { Escape: () => setState({ one: null, two: null }) });
}

function drawBuckets(s, chosen) {
	const most = Math.max(...forest.buckets.map((b) => b.p99_ns));
	const slower = new Map();
	for (const g of groups.groups) if (g.outlier && !g.faster) slower.set(keyOf(g), (slower.get(keyOf(g)) ?? 0) + 1);
	const keys = keysOf(forest.buckets), short = (b) => (keys ? Object.values(b.values).filter((v) => v !== null).join(", ") : nameOf(b));
	const rows = forest.buckets.map((b) => ({ key: keyOf(b), titles: [nameOf(b)], kind: slower.has(keyOf(b)) ? "guilty" : null, cells: [short(b), b.entry, Math.round(b.requests).toLocaleString("en"), span(b.mean_ns), span(b.p50_ns), span(b.p95_ns), span(b.p99_ns), quantiles(b, most), slower.has(keyOf(b)) ? `${slower.get(keyOf(b))} slower` : ""] }));
	const columns = [{ title: keys || "bucket", class: "name" }, { title: "entry", class: "widest" }, { title: "requests", class: "number" }, { title: "mean", class: "number" }, { title: "p50", class: "number wide" }, { title: "p95", class: "number wide" }, { title: "p99", class: "number widest" }, { title: "p50-p95-p99", class: "wide" }, { title: "versions" }];
	replaceContents(parts.buckets, choosableTable({ label: "buckets", columns, rows, chosen, onChoose: (bucket, walk) => setState({ bucket, one: null, two: null, baseline: null, candidate: null }, false, walk) }));
}

// Requests to look at: those that are stored whole open below.
const examples = (traces) => traces.map((t, i) => element("span", { class: "hint" }, i ? ", " : " for example ", t.whole ? link({ one: t.trace }, t.trace) : t.trace, ` (${formatSpan(t.duration_ns)})`));

// By which types of errors more requests fail than before.
const errorList = (errors) => (errors.length ? [element("h3", {}, "Errors that more requests have"), element("ul", { class: "errors" }, ...errors.map((e) => element("li", {}, element("strong", {}, e.type), ` (${e.attribute}) of ${e.call}: ${share(e.after)} of the requests, were ${share(e.before)}`)))] : []);

// The versions to blame; one that is chosen shows its bucket, and is the candidate.
function drawSuspects(answer) {
	const rows = answer.suspects.map((x, i) => ({ key: String(i), kind: "guilty", titles: [x.together && `always together with ${x.together}`], cells: [`${x.package}=${x.version}${x.failing ? `: by it ${share(x.fails)} of the requests have a failure, by others ${share(x.fails_others)}` : ""}`, x.bucket, span(x.mean_ns), span(x.others_mean_ns), `+${share(x.mean_ns / x.others_mean_ns - 1)}`, Math.round(x.requests).toLocaleString("en"), x.q === null ? "" : x.q < 0.001 ? x.q.toExponential(0) : x.q.toFixed(2)] }));
	const columns = [{ title: "version", class: "name" }, { title: "bucket", class: "name" }, { title: "mean", class: "number" }, { title: "of the others", class: "number" }, { title: "change", class: "number" }, { title: "requests", class: "number wide" }, { title: "q", class: "number wide" }];
	parts.headline.className = rows.length || answer.since ? "summary slow" : "summary";
	parts.headline.textContent = answer.since ? `No version is to blame; ${answer.since_failing ? "more requests of all of them fail" : "all take longer"} since ${localTime(answer.since)}.` : `${answer.headline[0].toUpperCase()}${answer.headline.slice(1)}.`;
	if (!rows.length) parts.suspects.replaceChildren();
	else replaceContents(parts.suspects, choosableTable({ label: "versions to blame", columns, rows, chosen: null, follows: false, onChoose: (i) => { const x = answer.suspects[i], b = forest.buckets.find((y) => [labelOf(y), nameOf(y)].includes(x.bucket)); setState({ bucket: b ? keyOf(b) : state().bucket, candidate: `${x.package}=${x.version}`, one: null, two: null }); } }));
	const errors = errorList(answer.errors);
	const causes = answer.attributes?.causes ?? [], deployments = answer.deployments ?? [];
	parts.causes.replaceChildren(
		...(deployments.length ? [element("h3", {}, "Deployed when it began"), element("ol", {}, ...deployments.map((d) => element("li", {}, `${d.package} ${d.version}${d.hosts ? ` at ${d.hosts}` : ""}, since ${localTime(d.since)}${d.share === null ? "" : `: its calls and the way to them are ${share(d.share)} of the rise`}`)))] : []),
		...errors,
		...(causes.length ? [element("h3", {}, "Attributes of the requests that became slower"), element("ul", {}, ...causes.map((c) => element("li", {}, `${c.where}: ${span(c.mean_ns)}, expected ${span(c.expected_ns)}, in ${Math.round(c.requests).toLocaleString("en")} requests; ${share(c.share)} of the rise`, ...examples(c.traces))))] : []));
}

async function askWhy(s) {
	const asked = s.buckets ?? "";
	if (whyFor === asked) return;
	whyFor = asked;
	const answer = await whyQuestion(() => ask("spans/why", { by: s.buckets }), "looking for the version to blame ...");
	if (answer) drawSuspects(answer);
}

async function saveReport() {
	const name = "whyslow-spans.html", saved = await whyQuestion(() => save("spans/why.html", { by: state().buckets }, name).then(() => true), "writing the answer ...");
	if (saved) parts.whyStatus.textContent = `saved as ${name}`;
}

// What tells the selected requests from the others: attributes and calls, and where their time goes.
function drawSelected() {
	const x = selected, number = (n) => Math.round(n).toLocaleString("en");
	if (!x.bounded) return parts.selected.replaceChildren();
	const head = element("p", { class: "summary" }, `${number(x.selected)} of ${number(x.requests)} requests are selected${x.selected ? `: mean ${span(x.mean_selected_ns)}, of the others ${span(x.mean_others_ns)}` : ""}.${x.sampled ? " By a sample of them." : ""}`);
	const kinds = x.kinds.map((k) => element("li", {}, element("strong", {}, k.where), `: ${share(k.selected)} of these requests are selected, of the others ${share(k.others)}; they are ${share(k.covers)} of the selection`,
		...examples(k.traces)));
	const rows = x.calls.map((c) => ({ key: c.call, kind: c.selected_ns > 1.2 * c.others_ns ? "guilty" : null, cells: [c.call, span(c.selected_ns), span(c.others_ns), signed(c.selected_ns - c.others_ns), share(c.through_selected), share(c.through_others)] }));
	const columns = [{ title: "call", class: "name" }, { title: "selected", class: "number" }, { title: "others", class: "number" }, { title: "difference", class: "number" }, { title: "of the selected go through", class: "number wide" }, { title: "of the others", class: "number wide" }];
	parts.selected.replaceChildren(head, element("h3", {}, "What tells them from the others"), kinds.length ? element("ol", {}, ...kinds) : element("p", {}, "No attribute and no call: the selected requests are like the others."),
		rows.length ? element("h3", {}, "Time on the critical path of a request") : "", rows.length ? element("div", { class: "scroll" }, choosableTable({ label: "calls of the selected requests and of the others", columns, rows, chosen: null, follows: false, onChoose: () => null })) : "");
}

async function askMap(s) {
	const bounds = { begin: s.begin && `@${s.begin}`, end: s.end && `@${s.end}`, longer: s.longer && `${s.longer}ns`, shorter: s.shorter && `${s.shorter}ns`, failed: s.failed };
	const asked = JSON.stringify([s.buckets, bounds]);
	parts.failed.show(s);
	if (mapFor === asked) return;
	mapFor = asked;
	const answer = await mapQuestion(() => ask("spans/select", { by: s.buckets, ...bounds }), "comparing the requests ...");
	if (!answer) return;
	selected = answer;
	if (!parts.map.hidden) map.show(answer.map, state());
	drawSelected();
}

// A thin line to p99, a thick one from p50 to p95.
function quantiles(b, most) {
	const at = (ns) => 100 * ns / most;
	return svg("svg", { class: "quantiles", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { class: "thin", x: 0, y: 4, width: at(b.p99_ns), height: 2 }), svg("rect", { class: "thick", x: at(b.p50_ns), y: 1, width: Math.max(0.5, at(b.p95_ns) - at(b.p50_ns)), height: 8 }));
}

// The chosen bucket, else the one of the version that costs most, else the first.
function bucketOf(s) {
	const worst = groups.groups.filter((g) => g.outlier && !g.faster).sort((a, b) => b.excess_ns - a.excess_ns)[0];
	return forest.buckets.some((b) => keyOf(b) === s.bucket) ? s.bucket : keyOf(worst ?? forest.buckets[0]);
}

const ofBucket = (key) => groups.groups.filter((g) => keyOf(g) === key);

function drawVersions(s, key) {
	const list = ofBucket(key), set = differing(list);
	const rows = list.map((g) => ({ key: g.versions, kind: g.outlier && !g.faster ? "guilty" : null, titles: [null, g.versions],
		cells: [oddBar(g.z === null ? 0 : Math.abs(g.z) / 6), shortVersions(g.versions, set), g.z === null ? "" : g.z.toFixed(1), g.q === null ? "" : g.q < 0.001 ? g.q.toExponential(0) : g.q.toFixed(2), span(g.mean_ns), span(g.usual_ns), g.effect === null ? "" : `${g.effect > 0 ? "+" : ""}${share(g.effect)}`, Math.round(g.requests).toLocaleString("en"), g.first_seen ? localTime(g.first_seen) : "not known", g.outlier ? (g.faster ? "faster" : "slower") : g.cannot_exceed ? "too few groups" : ""] }));
	const columns = [{ title: "anomaly" }, { title: "version", class: "name" }, { title: "z", class: "number wide" }, { title: "q", class: "number wide" }, { title: "mean", class: "number" }, { title: "normal", class: "number wide" }, { title: "change", class: "number" }, { title: "requests", class: "number wide" }, { title: "first seen", class: "widest" }, { title: "" }];
	parts.versionTitle.textContent = `Versions of ${list.length ? nameOf(list[0]) : "the bucket"}`;
	replaceContents(parts.versions, choosableTable({ label: "versions of the bucket", columns, rows, chosen: s.candidate ? list.find((g) => packages(g.versions).includes(s.candidate))?.versions ?? null : null,
		onChoose: (versions, walk) => setState({ candidate: packages(versions).find((p) => set.has(p)) ?? null, one: null, two: null }, false, walk) }));
}

// A package's versions in the chosen bucket; without a choice the candidate's, else the one with most versions there.
function drawTimes(s, key) {
	const all = groups.times.filter((t) => keyOf(t) === key && t.mean_ns.length), list = [...new Set(all.map((t) => t.package))].sort((a, b) => a.localeCompare(b));
	const candidate = list.find((p) => s.candidate?.startsWith(`${p}=`)), versions = (p) => all.filter((t) => t.package === p);
	const chosen = list.includes(s.package) ? s.package : candidate ?? [...list].sort((a, b) => versions(b).length - versions(a).length)[0];
	parts.times.replaceChildren();
	if (!chosen) return parts.package.replaceChildren(element("p", { class: "hint" }, "The bucket has one version only."));
	const select = element("select", { "data-key": "package", onchange: (e) => setState({ package: e.target.value }) }, ...list.map((p) => element("option", { value: p }, p)));
	select.value = chosen;
	replaceContents(parts.package, element("label", { class: "choice" }, "mean of the requests by the version of ", select));
	parts.times.append(versionTimes(versions(chosen), groups.deployments, candidate === chosen ? s.candidate.slice(chosen.length + 1) : null, parts.times.clientWidth || 600));
}

function drawForest(s, key) {
	const b = forest.buckets.find((x) => keyOf(x) === key);
	if (!b) return parts.forest.replaceChildren();
	parts.forestTitle.textContent = `Call forest of ${nameOf(b)}: where ${span(b.mean_ns)} of a request go`;
	const least = s.critical === "1" ? 0.005 * b.mean_ns : -1;
	const rows = b.paths.filter((p) => (p.path_ns_per_request ?? 0) > least).map((p) => {
		const on = p.path_ns_per_request ?? 0, name = element("span", { class: "call" }, p.path.split(" > ").at(-1));
		name.style.paddingLeft = `${Math.min(p.depth, 14) * 0.9}rem`;
		return { key: p.path, kind: on > 0.01 * b.mean_ns ? "critical" : null, titles: [null, p.path], cells: [oddBar(on / b.mean_ns), name, share(on / b.mean_ns), span(on), p.calls_per_parent === null ? "" : p.calls_per_parent.toFixed(2), span(p.p50_ns), span(p.p95_ns), span(p.p99_ns), p.parallel === null ? "" : p.parallel > 1.05 ? p.parallel.toFixed(1) : "", [p.errors ? `${share(p.errors / p.calls)} fail` : "", p.retries ? `${share(p.retries / p.calls)} retries` : "", p.asynchronous > p.calls / 2 ? "asynchronous" : ""].filter(Boolean).join(", ")] };
	});
	const columns = [{ title: "path" }, { title: "call", class: "name" }, { title: "of the request", class: "number" }, { title: "a request", class: "number wide" }, { title: "calls", class: "number wide" }, { title: "p50", class: "number wide" }, { title: "p95", class: "number wide" }, { title: "p99", class: "number wide" }, { title: "at a time", class: "number wide" }, { title: "", class: "widest" }];
	replaceContents(parts.forest, choosableTable({ label: "calls of the bucket; the critical path is lit", columns, rows, chosen: s.call ?? null, onChoose: (call, walk) => setState({ call }, false, walk) }));
}

function versionChoice(key, label, set, list, value) {
	const options = [...set].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
	const select = element("select", { "data-key": key, onchange: (e) => setState({ [key]: e.target.value || null, one: null, two: null }) }, element("option", { value: "" }, "choose"), ...options.map((p) => element("option", { value: p }, p)));
	select.value = value ?? "";
	return element("label", { class: "choice" }, `${label} `, select);
}

function drawPick(s, key) {
	const list = ofBucket(key), set = differing(list);
	if (set.size < 2) parts.pick.replaceChildren(element("p", { class: "hint" }, "The bucket has one version only."));
	else replaceContents(parts.pick, versionChoice("baseline", "was", set, list, s.baseline), versionChoice("candidate", "is", set, list, s.candidate));
}

function drawComparison(s) {
	if (!comparison) {
		parts.compare.replaceChildren(element("p", { class: "hint" }, "Choose two versions above."));
		return;
	}
	const b = comparison.buckets[0];
	const sentence = { same: `no difference between ${s.candidate} and ${s.baseline} that is sure`, slower: `${s.candidate} is slower than ${s.baseline}`, faster: `${s.candidate} is faster than ${s.baseline}`, failing: `more requests of ${s.candidate} fail than of ${s.baseline}`, unclear: `too few requests to tell ${s.candidate} from ${s.baseline}` };
	if (!b) {
		parts.compare.replaceChildren(element("p", {}, `${sentence[comparison.verdict]}.`));
		return;
	}
	const head = element("p", { class: `summary ${["slower", "failing"].includes(b.verdict) ? "slow" : "calm"}` }, `${sentence[b.verdict]}: ${span(b.mean_after_ns)}, was ${span(b.mean_before_ns)}`,
		b.errors_before || b.errors_after ? `; ${share(b.errors_after)} fail, were ${share(b.errors_before)}` : "",
		b.low_ns === null ? "" : ` (95 % sure: ${signed(b.low_ns)} to ${signed(b.high_ns)})`, b.q === null || b.q > SURE ? "" : `, q = ${b.q.toPrecision(2)}`);
	const most = Math.max(1, ...b.vertices.map((v) => Math.abs(v.after_ns - v.before_ns)));
	const rows = [...b.vertices].sort((x, y) => Math.abs(y.after_ns - y.before_ns) - Math.abs(x.after_ns - x.before_ns)).slice(0, 40).map((v) => ({ key: v.path, titles: [null, v.path], kind: v.after_ns - v.before_ns > 0.05 * most ? "guilty" : null,
		cells: [oddBar(Math.abs(v.after_ns - v.before_ns) / most), v.path.split(" > ").at(-1), span(v.before_ns), span(v.after_ns), signed(v.after_ns - v.before_ns), `${v.calls_before.toFixed(2)} → ${v.calls_after.toFixed(2)}`, v.reason === "none" ? "" : v.reason] }));
	const columns = [{ title: "" }, { title: "call", class: "name" }, { title: s.baseline, class: "number wide" }, { title: s.candidate, class: "number wide" }, { title: "change", class: "number" }, { title: "calls a request", class: "number wide" }, { title: "because", class: "wide" }];
	const table = element("div", { class: "scroll" }, choosableTable({ label: "calls, before and after", columns, rows, chosen: s.call ?? null, onChoose: (call, walk) => setState({ call }, false, walk) }));
	replaceContents(parts.compare, head, ...errorList(comparison.errors), rows.length ? table : "");
}

const requestText = (r, set) => `${r.slowest ? "slow" : "ordinary"}, ${shortVersions(r.versions, set)}: ${formatSpan(r.duration_ns)} (${r.trace.slice(0, 8)})`;

function requestChoice(key, label, list, set, value) {
	const select = element("select", { "data-key": key, onchange: (e) => setState({ [key]: e.target.value || null }) }, ...(key === "two" ? [element("option", { value: "none" }, "nothing")] : []), ...list.map((r) => element("option", { value: r.trace }, requestText(r, set))));
	select.value = value ?? "";
	const id = element("input", { "data-key": `${key}-id`, size: 12, placeholder: "or its id", "aria-label": `${label}: trace id`, onchange: (e) => e.target.value.trim() && setState({ [key]: e.target.value.trim().toLowerCase() }) });
	return [element("label", { class: "choice" }, `${label} `, select), id];
}

function drawRequests(s) {
	const list = [...exemplars.requests, ...exemplars.also].filter((r, i, all) => all.findIndex((x) => x.trace === r.trace) === i), set = differing(list);
	const slow = comparison?.buckets[0]?.slow?.trace, usual = comparison?.buckets[0]?.usual?.trace;
	const of = (version) => (version ? list.find((r) => r.slowest && packages(r.versions).includes(version)) : null);
	const named = (id) => list.find((r) => r.trace === id);
	const one = named(s.one) ?? named(slow) ?? of(s.candidate) ?? list.reduce((a, b) => (!a || b.duration_ns > a.duration_ns ? b : a), null);
	const two = s.two === undefined ? named(usual) ?? of(s.baseline) : named(s.two);
	replaceContents(parts.which, ...requestChoice("one", "request", list, set, one?.trace), ...requestChoice("two", "compare with", list, set, two?.trace ?? "none"));
	const most = Math.max(one?.duration_ns ?? 1, two?.duration_ns ?? 1);
	parts.two.hidden = !two;
	if (one) drawWaterfall(parts.one, one, most);
	else parts.one.replaceChildren(element("p", {}, "No request was stored whole."));
	if (two) drawWaterfall(parts.two, two, most);
	parts.descent.show(one?.trace ?? null);
	return one && two && one !== two ? `${two.trace},${one.trace}` : null;
}

// Where the times of the two differ: `one` is the second, the slow one.
async function drawDifferences(pair) {
	if (!pair) {
		parts.differences.replaceChildren();
		return;
	}
	if (exemplars.pair?.key !== pair) {
		const answer = await question(() => ask("spans/exemplars", { by: state().buckets, trace: pair }));
		if (!answer) return;
		exemplars.pair = { key: pair, calls: answer.differences ?? [] };
	}
	const calls = exemplars.pair.calls.filter((c) => c.first_ns !== c.second_ns || c.calls_first !== c.calls_second).slice(0, 40);
	const most = Math.max(1, ...calls.map((c) => Math.abs(c.second_ns - c.first_ns)));
	const rows = calls.map((c) => ({ key: c.path, titles: [null, c.path], kind: c.second_ns - c.first_ns > 0.05 * most ? "guilty" : null,
		cells: [oddBar(Math.abs(c.second_ns - c.first_ns) / most), c.path.split(" > ").at(-1), span(c.first_ns), span(c.second_ns), signed(c.second_ns - c.first_ns), `${c.calls_first} → ${c.calls_second}`] }));
	const columns = [{ title: "" }, { title: "call", class: "name" }, { title: "the other", class: "number wide" }, { title: "request", class: "number wide" }, { title: "difference", class: "number" }, { title: "calls", class: "number wide" }];
	replaceContents(parts.differences, rows.length ? element("div", { class: "scroll" }, choosableTable({ label: "where the times of the two requests differ", columns, rows, chosen: state().call ?? null, onChoose: (call, walk) => setState({ call }, false, walk) })) : element("p", { class: "hint" }, "No call of the two differs."));
}

export async function show(main, s, changed) {
	if (!parts) build(main);
	showsNothing(main, !forest);
	for (const p of [parts.by, parts.method, parts.critical]) p.show(s);
	if (!forest || changed("buckets")) {
		const answer = await question(() => Promise.all([ask("spans/forest", { by: s.buckets }), ask("spans/groups", { by: s.buckets, method: s.method })]), "reading the requests ...");
		if (!answer) return;
		[forest, groups] = answer;
		exemplars = comparison = null;
	} else if (changed("method")) {
		const answer = await question(() => ask("spans/groups", { by: s.buckets, method: s.method }));
		if (!answer) return;
		groups = answer;
	}
	showsNothing(main, !forest.buckets.length);
	if (!forest.buckets.length) {
		showEmpty();
		return;
	}
	const r = forest.read;
	parts.about.textContent = `${r.requests.toLocaleString("en")} requests, ${r.spans.toLocaleString("en")} spans, ${forest.buckets.length} buckets; critical path by the rule “${forest.rule}”.${r.orphan_traces ? ` ${r.orphan_traces} traces have no root and are left out.` : ""}`;
	s = state();
	const key = bucketOf(s);
	drawBuckets(s, key);
	drawVersions(s, key);
	drawTimes(s, key);
	drawForest(s, key);
	drawPick(s, key);
	askWhy(s);
	askMap(s);
	if (!exemplars || exemplars.key !== `${s.buckets}|${key}`) {
		const answer = await question(() => ask("spans/exemplars", { by: s.buckets, top: 2, ...selection(key) }));
		if (!answer) return;
		exemplars = { ...answer, whole: new Map(), also: [], key: `${s.buckets}|${key}` };
	}
	const pair = s.baseline && s.candidate && s.baseline !== s.candidate ? `${s.buckets}|${key}|${s.baseline}|${s.candidate}` : null;
	if (!pair) comparison = null;
	else if (comparison?.key !== pair) {
		const answer = await question(() => ask("spans/compare", { by: s.buckets, baseline: s.baseline, candidate: s.candidate, ...selection(key) }));
		if (!answer) return;
		comparison = { ...answer, key: pair };
	}
	const b = comparison?.buckets[0];
	const wanted = [s.one, s.two === "none" ? null : s.two, b?.slow?.trace, b?.usual?.trace].filter((t) => t && !exemplars.requests.some((r) => r.trace === t));
	for (const trace of wanted)
		if (!exemplars.whole.has(trace)) {
			const answer = await question(() => ask("spans/exemplars", { by: s.buckets, trace }));
			if (!answer) return;
			exemplars.whole.set(trace, answer.requests);
		}
	exemplars.also = wanted.flatMap((t) => exemplars.whole.get(t));
	drawComparison(state());
	await drawDifferences(drawRequests(state()));
}
