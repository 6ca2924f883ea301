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

// The paper's red bar: how unusual, 0..1; the figure itself for those who do not see it.
export function oddBar(score) {
	const share = Math.max(0, Math.min(1, score || 0));
	const svg = document.createElementNS(SVG, "svg");
	svg.setAttribute("class", "odd");
	svg.setAttribute("viewBox", "0 0 100 10");
	svg.setAttribute("preserveAspectRatio", "none");
	svg.setAttribute("aria-hidden", "true");
	for (const [kind, width] of [["ground", 100], ["full", 100 * share]]) {
		const rect = document.createElementNS(SVG, "rect");
		rect.setAttribute("class", kind);
		rect.setAttribute("width", width);
		rect.setAttribute("height", 10);
		svg.append(rect);
	}
	return element("span", {}, svg, element("span", { class: "bar-text" }, `${Math.round(100 * share)} %`));
}

// A table whose rows are chosen with mouse, arrows and Enter. Rows keep their place under the keyboard while they change.
export function choosableTable({ label, columns, rows, chosen, onChoose }) {
	const body = element("tbody");
	rows.forEach((row, i) => {
		const tr = element("tr", { tabindex: row.key === chosen || (chosen === null && i === 0) ? 0 : -1, "aria-selected": row.key === chosen,
			class: row.kind || null, "data-key": row.key, onclick: () => onChoose(row.key) });
		columns.forEach((c, k) => tr.append(element("td", { class: c.class, title: row.titles?.[k] ?? null }, row.cells[k])));
		body.append(tr);
	});
	body.addEventListener("keydown", (e) => {
		const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[e.key];
		const all = [...body.rows], at = all.indexOf(document.activeElement);
		if (at < 0 || e.shiftKey) return;
		if (step) {
			const next = all[Math.max(0, Math.min(all.length - 1, at + step))];
			next.focus();
			onChoose(next.dataset.key);
			e.preventDefault();
		} else if (e.key === "Enter" || e.key === " ") {
			onChoose(all[at].dataset.key);
			e.preventDefault();
		}
	});
	const head = element("tr", {}, ...columns.map((c) => element("th", { class: c.class, scope: "col" }, c.title)));
	return element("table", { role: "grid", "aria-label": label }, element("thead", {}, head), body);
}

// Puts a new table in the place of an old one without losing scroll position or focus.
export function replaceTable(holder, table) {
	const focused = holder.contains(document.activeElement) ? document.activeElement.dataset.key : null;
	const top = holder.scrollTop;
	holder.replaceChildren(table);
	holder.scrollTop = top;
	if (focused) holder.querySelector(`tr[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

// A pane's own style sheet; once.
export function loadStyle(href) {
	if (!document.head.querySelector(`link[href="${href}"]`)) document.head.append(element("link", { rel: "stylesheet", href }));
}

// A colour by its name in a style sheet ("--accent").
export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
