// Elements from a description; text is always text.
export function element(name, attributes = {}, ...children) {
	const e = document.createElement(name);
	for (const [key, value] of Object.entries(attributes)) {
		if (value === null || value === undefined || (value === false && !key.startsWith("aria-"))) continue;
		if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
		else e.setAttribute(key, value === true && !key.startsWith("aria-") ? "" : String(value));
	}
	e.append(...children.filter((c) => c !== null && c !== undefined));
	return e;
}

const SVG = "http://www.w3.org/2000/svg";
export function svg(name, attributes = {}, ...children) {
	const e = document.createElementNS(SVG, name);
	for (const [key, value] of Object.entries(attributes)) {
		if (value === null || value === undefined) continue;
		if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
		else e.setAttribute(key, value);
	}
	e.append(...children.filter((c) => c !== null && c !== undefined));
	return e;
}

// The paper's red bar: how unusual, 0..1; the figure itself for those who do not see it. A log-likelihood stands next to it.
export function oddBar(score, likelihood = null) {
	const share = Math.max(0, Math.min(1, score || 0)), figure = likelihood === null ? `${Math.round(100 * share)} %` : likelihood.toFixed(1);
	return element("span", { class: likelihood === null ? null : "with-figure" }, svg("svg", { class: "odd", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { class: "ground", width: 100, height: 10 }), svg("rect", { class: "full", width: 100 * share, height: 10 })),
		element("span", { class: likelihood === null ? "bar-text" : "bar-figure" }, figure));
}

// One stop for Tab among many: arrows, Home and End go from one to the next. `items()`: the focusable elements, in order; `onStep(item)`:
// it was walked to. The one that has tabindex 0 is the stop.
export function arrowKeys(holder, items, onStep = () => null, { next = "ArrowDown", previous = "ArrowUp", page = 10 } = {}) {
	holder.addEventListener("keydown", (e) => {
		const all = items(), at = all.indexOf(document.activeElement);
		const to = { [next]: at + 1, [previous]: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: all.length - 1 }[e.key];
		if (at < 0 || to === undefined || e.shiftKey || e.ctrlKey || e.metaKey || e.altKey) return;
		const item = all[Math.max(0, Math.min(all.length - 1, to))];
		all[at].setAttribute("tabindex", -1);
		item.setAttribute("tabindex", 0);
		item.focus();
		onStep(item);
		e.preventDefault();
		e.stopPropagation();
	});
}

// A table whose rows are chosen with mouse, arrows and Enter: onChoose(key, walk), `walk` as setState() takes it. Rows keep their place
// under the keyboard while they change. `follows`: an arrow chooses the row it comes to. `press`: what further keys do with a row,
// { key: (row's key) => ... }.
export function choosableTable({ label, columns, rows, chosen, onChoose, follows = true, press = {} }) {
	const body = element("tbody");
	const stop = rows.some((row) => row.key === chosen) ? chosen : rows[0]?.key;
	for (const row of rows) {
		const tr = element("tr", { tabindex: row.key === stop ? 0 : -1, "aria-selected": row.key === chosen,
			class: row.kind || null, "data-key": row.key, onclick: () => onChoose(row.key) });
		columns.forEach((c, k) => tr.append(element("td", { class: c.class, title: row.titles?.[k] ?? null }, row.cells[k])));
		body.append(tr);
	}
	body.addEventListener("keydown", (e) => {
		if (e.target.tagName !== "TR" || e.ctrlKey || e.metaKey || e.altKey) return;
		if (e.key === "Enter" || e.key === " ") onChoose(e.target.dataset.key);
		else if (press[e.key]) press[e.key](e.target.dataset.key);
		else return;
		e.preventDefault();
		e.stopPropagation();
	});
	arrowKeys(body, () => [...body.rows], (tr) => follows && onChoose(tr.dataset.key, label));
	const head = element("tr", {}, ...columns.map((c) => element("th", { class: c.class, scope: "col" }, c.title)));
	return element("table", { role: "grid", "aria-label": label }, element("thead", {}, head), body);
}

// Of a row of such a table; by keyboard it is the row's key +.
export const addButton = (label, onAdd) => element("button", { type: "button", tabindex: -1, "aria-label": label, title: `${label} (+)`, onclick: (e) => { e.stopPropagation(); onAdd(); } }, "+");

// A list that scrolls ends with a whole row.
function wholeRows(box) {
	box.style.maxHeight = "";
	const { clientHeight: height, scrollTop } = box, begin = box.getBoundingClientRect().top - scrollTop;
	if (!height || box.scrollHeight <= height) return;
	let end = 0;
	for (const row of box.querySelectorAll("tbody tr")) {
		const bottom = row.getBoundingClientRect().bottom - begin;
		if (bottom > height) break; // the others are not measured: a live list is drawn every second
		end = bottom;
	}
	if (end) box.style.maxHeight = `${Math.ceil(end) + box.offsetHeight - height}px`;
}
addEventListener("resize", () => document.querySelectorAll(".scroll").forEach(wholeRows));

// New contents in the place of old ones, without losing scroll position or focus: what has the focused one's data-key has it then, else
// the one that is the stop for Tab.
export function replaceContents(holder, ...contents) {
	const focused = holder.contains(document.activeElement) && document.activeElement !== holder ? document.activeElement.dataset.key ?? "" : null;
	const { scrollTop: top, scrollLeft: left } = holder;
	holder.replaceChildren(...contents);
	(holder.classList.contains("scroll") ? [holder] : [...holder.querySelectorAll(".scroll")]).forEach(wholeRows);
	holder.scrollTop = top;
	holder.scrollLeft = left;
	if (focused !== null) (holder.querySelector(`[data-key="${CSS.escape(focused)}"]`) ?? holder.querySelector("[tabindex='0'], button, a[href]"))?.focus({ preventScroll: true });
}

// A button that has nothing to do now. It keeps the focus, which one that is `disabled` loses.
export const setIdle = (button, idle) => button.setAttribute("aria-disabled", String(idle));

// What is waited for, in words, once it takes a while; and how long it has taken. Returns what ends it.
const PATIENCE = 300, LONG = 2000; // ms
export function waiting(status, text) {
	const began = performance.now(), seconds = element("span", { "aria-hidden": "true" }); // read out once, not every second
	let shown = false, timer = setTimeout(tell, PATIENCE);
	function tell() {
		const took = performance.now() - began;
		if (!shown) status.replaceChildren(text, seconds);
		shown = true;
		status.classList.remove("error");
		if (took > LONG) seconds.textContent = ` ${Math.floor(took / 1000)} s`;
		timer = setTimeout(tell, 1000);
	}
	return () => {
		clearTimeout(timer);
		if (shown && seconds.parentElement === status) status.textContent = "";
	};
}

// A pane's own style sheet; once.
export function loadStyle(href) {
	if (!document.head.querySelector(`link[href="${href}"]`)) document.head.append(element("link", { rel: "stylesheet", href }));
}

// A color by its name in a style sheet ("--accent").
export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
