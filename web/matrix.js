// The victim x culprit matrix: a heat-colored table that is read with arrows as with eyes. Where there is no room for it, on a phone, a
// list of its cells, the longest first.
import { formatSpan } from "./axis.js";
import { arrowKeys, choosableTable, element, replaceContents } from "./dom.js";

const NARROW = 560, LISTED = 30; // px, cells

// [row][column] ns of the wait that is chosen, or of all.
function sums(blame, wait) {
	const rows = blame.victims.length + 1, columns = blame.culprits.length + 1;
	const ns = Array.from({ length: rows }, () => new Float64Array(columns));
	for (const c of blame.cells) if (!wait || c.wait === wait) ns[c.victim][c.culprit] += c.ns;
	return ns;
}

const total = (list) => list.reduce((a, b) => a + b, 0);

// The order of rows and columns: as answered (the longest first), or by one column ("c3") or row ("v2").
function order(n, by) {
	const indices = [...Array(n).keys()];
	return by ? indices.sort((a, b) => by(b) - by(a)) : indices;
}

const short = (ns) => (ns >= 1e9 ? `${(ns / 1e9).toFixed(ns >= 1e10 ? 0 : 1)} s` : ns >= 1e6 ? `${Math.round(ns / 1e6)} ms` : ns >= 1e3 ? `${Math.round(ns / 1e3)} µs` : "");

export function drawMatrix(holder, blame, { wait, sort, cell, onSort, onCell }) {
	const ns = sums(blame, wait);
	const victims = [...blame.victims.map((v) => v.text), `${blame.other_victims.n} others`];
	const culprits = [...blame.culprits.map((c) => c.text), `${blame.other_culprits.n} others`];
	const rowSum = ns.map((r) => total([...r])), columnSum = culprits.map((_, c) => total(ns.map((r) => r[c])));
	const byColumn = /^c(\d+)$/.exec(sort ?? ""), byRow = /^v(\d+)$/.exec(sort ?? "");
	const rows = order(victims.length, byColumn ? (v) => ns[v][byColumn[1]] : wait ? (v) => rowSum[v] : null).filter((v) => rowSum[v] > 0);
	const columns = order(culprits.length, byRow ? (c) => ns[byRow[1]][c] : wait ? (c) => columnSum[c] : null).filter((c) => columnSum[c] > 0);
	if (!rows.length) {
		holder.replaceChildren(element("p", {}, "No thread waited for that."));
		return;
	}
	const most = Math.max(...rows.map((v) => Math.max(...columns.map((c) => ns[v][c]))));
	if (holder.clientWidth < NARROW) return drawList(holder, rows.flatMap((v) => columns.map((c) => ({ key: `${v},${c}`, victim: victims[v], culprit: culprits[c], ns: ns[v][c] }))), { most, cell, onCell });
	const columnStop = columns.some((c) => sort === `c${c}`) ? sort : `c${columns[0]}`, rowStop = rows.some((v) => sort === `v${v}`) ? sort : `v${rows[0]}`;
	const head = element("tr", {}, element("th", { class: "corner" }, "waited"), element("th", { class: "number" }, "in all"),
		...columns.map((c) => element("th", { "aria-sort": sort === `c${c}` ? "descending" : "none" },
			element("button", { type: "button", class: "turned", "data-key": `c${c}`, tabindex: columnStop === `c${c}` ? 0 : -1, title: `${culprits[c]}: ${formatSpan(columnSum[c])} in all; sort by it`, onclick: () => onSort(`c${c}`) }, culprits[c]))));
	const first = cell && rows.includes(Number(cell.split(",")[0])) ? cell : `${rows[0]},${columns[0]}`;
	const body = element("tbody", {}, ...rows.map((v) => element("tr", {},
		element("th", { scope: "row" }, element("button", { type: "button", "data-key": `v${v}`, tabindex: rowStop === `v${v}` ? 0 : -1, title: `${victims[v]}; sort by it`, "aria-pressed": sort === `v${v}`, onclick: () => onSort(`v${v}`) }, victims[v])),
		element("td", { class: "number sum" }, short(rowSum[v])),
		...columns.map((c) => {
			const key = `${v},${c}`;
			const td = element("td", { class: "heat", tabindex: key === first ? 0 : -1, "data-key": key, "aria-selected": key === cell, title: `${victims[v]} because of ${culprits[c]}: ${formatSpan(ns[v][c])}`, onclick: () => onCell(key) }, short(ns[v][c]));
			return heated(td, ns[v][c] / most);
		}))));
	body.addEventListener("keydown", (e) => move(e, onCell));
	arrowKeys(head, () => [...head.querySelectorAll("button")], undefined, { next: "ArrowRight", previous: "ArrowLeft" });
	arrowKeys(body, () => [...body.querySelectorAll("th button")]);
	replaceContents(holder, element("table", { role: "grid", "aria-label": "waits by victim and culprit" }, element("thead", {}, head), body));
}

function heated(e, share) {
	if (share) e.style.setProperty("--heat", `${Math.round(8 + 92 * Math.sqrt(share))}%`);
	return e;
}

function drawList(holder, cells, { most, cell, onCell }) {
	const longest = cells.filter((x) => x.ns > 0).sort((a, b) => b.ns - a.ns).slice(0, LISTED);
	const rows = longest.map((x) => ({ key: x.key, titles: [x.victim, x.culprit], cells: [x.victim, x.culprit, heated(element("span", { class: "heat" }, formatSpan(x.ns)), x.ns / most)] }));
	const columns = [{ title: "who waited", class: "name" }, { title: "because of", class: "name" }, { title: "for", class: "number" }];
	replaceContents(holder, choosableTable({ label: "waits by victim and culprit, the longest first", columns, rows, chosen: cell, follows: false, onChoose: onCell }));
}

function move(e, onCell) {
	const at = e.target.closest("td.heat");
	if (!at) return;
	const row = at.parentElement, column = at.cellIndex;
	const next = { ArrowRight: row.cells[column + 1], ArrowLeft: column > 2 ? row.cells[column - 1] : null, ArrowDown: row.nextElementSibling?.cells[column], ArrowUp: row.previousElementSibling?.cells[column] }[e.key];
	if (next) {
		at.tabIndex = -1;
		next.tabIndex = 0;
		next.focus();
	} else if (e.key === "Enter" || e.key === " ") {
		onCell(at.dataset.key);
	} else {
		return;
	}
	e.preventDefault();
	e.stopPropagation();
}
