// Process lifetimes (the paper's figure 1): a bar a process, on the axis of the curve above; those that were there all the time come first.
import { arrowKeys, element, replaceContents, svg } from "./dom.js";
import { localTime } from "./format.js";

const ROW = 14, LEAST = 2; // px

// `place`: the curve's { left, width } in px and { from, to } in s.
export function drawLives(holder, answer, place, { chosen, onChoose }) {
	const lives = answer.lives.toSorted((a, b) => (a.began || a.ended) - (b.began || b.ended) || Date.parse(a.from) - Date.parse(b.from));
	const x = (t) => Math.max(0, Math.min(place.width, (Date.parse(t) / 1000 - place.from) / (place.to - place.from) * place.width));
	const told = `${answer.processes} processes lived here, ${answer.throughout} of them all the time${lives.length < answer.processes ? `; the last ${lives.length} to begin or end are shown` : ""}`;
	const at = lives.findIndex((l) => String(l.pid) === chosen), stop = Math.max(0, at), before = holder.querySelector(".scroll");
	const rows = lives.map((l, i) => {
		const from = Math.min(place.width - LEAST, x(l.from)), to = Math.max(from + LEAST, x(l.to));
		const words = `${l.label} ${l.pid}: ${l.began ? localTime(l.from, false) : "earlier"} to ${l.ended ? localTime(l.to, false) : "later"}`;
		const right = from > place.width - 160;
		return svg("g", { class: String(l.pid) === chosen ? "life chosen" : "life", role: "button", tabindex: i === stop ? 0 : -1, "data-key": `${l.pid}@${l.from}`, "aria-pressed": String(l.pid) === chosen, "aria-label": words, transform: `translate(0 ${i * ROW})`,
			onclick: () => onChoose(String(l.pid)), onkeydown: (e) => { if (e.key === "Enter" || e.key === " ") { onChoose(String(l.pid)); e.preventDefault(); } } },
		svg("title", {}, words), svg("rect", { x: from, y: 2, width: to - from, height: ROW - 4, rx: 1 }),
		svg("text", { class: !right && to + 4 > place.width - 120 ? "inside" : null, x: right ? from - 4 : to + 4 > place.width - 120 ? from + 4 : to + 4, y: ROW - 3, "text-anchor": right ? "end" : "start" }, `${l.label} (${l.pid})`));
	});
	const picture = svg("svg", { class: "lives", width: place.width, height: Math.max(1, rows.length * ROW), role: "group", "aria-label": "processes and when they lived" }, ...rows);
	picture.style.marginLeft = `${place.left}px`;
	arrowKeys(picture, () => rows);
	const box = element("div", { class: "scroll short", "data-chosen": chosen ?? "" }, picture);
	const top = before?.dataset.chosen === box.dataset.chosen ? before.scrollTop : null;
	replaceContents(holder, element("p", { class: "hint" }, told), box);
	box.scrollTop = top ?? (at < 0 ? box.scrollHeight : at * ROW - box.clientHeight / 2); // the chosen one, else the newest
}
