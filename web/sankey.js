// Time that flows from culprits through what was waited for to victims.
import { formatSpan } from "./axis.js";
import { arrowKeys, replaceContents, svg } from "./dom.js";

const SHOWN = 12, GAP = 4, NODE = 12, LEAST = 2, LINE = 15;
const KINDS = { cpu: 0, quota: 1, lock: 2, disk: 3, fault: 4, memory: 5, interrupt: 6, other: 7 };

// Nodes of one side: the largest ones, and everybody else together.
function side(names, sums, others) {
	const order = [...sums.keys()].filter((i) => sums.get(i) > 0).sort((a, b) => sums.get(b) - sums.get(a));
	const kept = order.filter((i) => i < names.length).slice(0, SHOWN);
	const rest = order.filter((i) => !kept.includes(i));
	const nodes = kept.map((i) => ({ key: i, text: names[i].text, ns: sums.get(i) }));
	const restNs = rest.reduce((n, i) => n + sums.get(i), 0);
	if (restNs > 0) nodes.push({ key: -1, text: `${others + rest.filter((i) => i < names.length).length} others`, ns: restNs });
	return { nodes, of: (i) => nodes.find((n) => n.key === i) ?? nodes.find((n) => n.key === -1) };
}

function add(map, key, ns) { map.set(key, (map.get(key) ?? 0) + ns); }

function flows(blame, wait) {
	const c = new Map(), v = new Map(), w = new Map();
	for (const x of blame.cells) {
		if (wait && x.wait !== wait) continue;
		add(c, x.culprit, x.ns);
		add(v, x.victim, x.ns);
		add(w, x.wait, x.ns);
	}
	const left = side(blame.culprits, c, blame.other_culprits.n), right = side(blame.victims, v, blame.other_victims.n);
	const middle = { nodes: [...w.entries()].sort((a, b) => b[1] - a[1]).map(([key, ns]) => ({ key, ns })) };
	middle.of = (key) => middle.nodes.find((n) => n.key === key);
	const links = new Map();
	for (const x of blame.cells) {
		if (wait && x.wait !== wait) continue;
		const l = left.of(x.culprit), m = middle.of(x.wait), r = right.of(x.victim);
		for (const [side_, a, b] of [["l", l, m], ["r", m, r]]) {
			const key = `${side_}|${a.key}|${b.key}`;
			const link = links.get(key) ?? { side: side_, a, b, ns: 0, wait: x.wait };
			link.ns += x.ns;
			links.set(key, link);
		}
	}
	return { left, middle, right, links: [...links.values()] };
}

// Heights by time; each node has room for its words. Returns the height of all.
function place(nodes, total, height) {
	let y = 0;
	for (const n of nodes) {
		n.height = Math.max(LEAST, n.ns / total * height);
		const slot = Math.max(n.height, LINE);
		n.y = y + (slot - n.height) / 2;
		n.in = n.out = 0;
		y += slot + GAP;
	}
	return y - GAP;
}

function ribbon(link, x0, x1, total) {
	const h = (n) => link.ns / n.ns * n.height;
	const y0 = link.a.y + link.a.out, y1 = link.b.y + link.b.in, h0 = h(link.a), h1 = h(link.b), middle = (x0 + x1) / 2;
	link.a.out += h0;
	link.b.in += h1;
	return `M${x0},${y0} C${middle},${y0} ${middle},${y1} ${x1},${y1} L${x1},${y1 + h1} C${middle},${y1 + h1} ${middle},${y0 + h0} ${x0},${y0 + h0} Z`;
}

const fit = (text, width) => {
	const most = Math.max(3, Math.floor(width / 7));
	return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
};

export function drawFlow(holder, blame, { wait, chosen, names, onWait, onChoose }) {
	const { left, middle, right, links } = flows(blame, wait);
	const total = middle.nodes.reduce((n, m) => n + m.ns, 0), width = holder.clientWidth || 600;
	if (!total) {
		holder.replaceChildren();
		return;
	}
	const narrow = width < 600;
	const gutter = Math.min(220, width * (narrow ? 0.28 : 0.22));
	const columns = [gutter, width / 2 - NODE / 2, width - gutter - NODE];
	const room = Math.max(140, 18 * Math.max(left.nodes.length, right.nodes.length));
	const height = Math.max(...[left, middle, right].map((s) => place(s.nodes, total, room)));
	const lit = (link) => !chosen || chosen === `c${link.side === "l" ? link.a.key : ""}` || chosen === `v${link.side === "r" ? link.b.key : ""}`;
	links.sort((p, q) => (p.side < q.side ? -1 : p.side > q.side ? 1 : p.side === "l" ? p.b.y - q.b.y || p.a.y - q.a.y : p.a.y - q.a.y || p.b.y - q.b.y));
	const root = svg("svg", { width, height: height + 8, viewBox: `0 -4 ${width} ${height + 8}`, role: "group", "aria-label": `${formatSpan(total)} of waiting, from culprits to victims` });
	for (const link of links) {
		const x = link.side === "l" ? [columns[0] + NODE, columns[1]] : [columns[1] + NODE, columns[2]];
		const text = link.side === "l" ? `${link.a.text} → ${names[link.wait]}` : `${names[link.wait]} → ${link.b.text}`;
		root.append(svg("path", { d: ribbon(link, ...x, total), class: `ribbon wait-${KINDS[link.wait] ?? 8}${lit(link) ? "" : " dim"}` }, svg("title", {}, `${text}: ${formatSpan(link.ns)}`)));
	}
	const nodes = [];
	const node = (n, x, words, onclick, { kind, anchor, tx, room, pressed }) => {
		const label = `${words}: ${formatSpan(n.ns)}, ${Math.round(100 * n.ns / total)} %`;
		// the words next to it are cut to fit: what is read out is whole
		nodes.push(svg("g", { role: "button", tabindex: -1, "data-key": `${kind} ${n.key}`, class: `node ${kind}`, "aria-label": label, "aria-pressed": String(pressed), onclick, onkeydown: (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); onclick(); } } },
			svg("title", {}, label), svg("rect", { x, y: n.y, width: NODE, height: n.height })));
		root.append(nodes.at(-1), svg("text", { x: tx, y: n.y + n.height / 2, "text-anchor": anchor, "dominant-baseline": "central", "aria-hidden": "true" }, fit(narrow ? words : `${words}  ${formatSpan(n.ns)}`, room)));
	};
	for (const n of left.nodes) node(n, columns[0], n.text, () => onChoose(`c${n.key}`), { kind: "culprit", anchor: "end", tx: columns[0] - 6, room: gutter - 8, pressed: chosen === `c${n.key}` });
	for (const n of right.nodes) node(n, columns[2], n.text, () => onChoose(`v${n.key}`), { kind: "victim", anchor: "start", tx: columns[2] + NODE + 6, room: gutter - 8, pressed: chosen === `v${n.key}` });
	for (const n of middle.nodes) node(n, columns[1], names[n.key] ?? n.key, () => onWait(n.key), { kind: `wait wait-${KINDS[n.key] ?? 8}`, anchor: "middle", tx: width / 2, room: narrow ? 100 : 180, pressed: wait === n.key });
	(nodes.find((n) => n.getAttribute("aria-pressed") === "true") ?? nodes[0]).setAttribute("tabindex", 0);
	arrowKeys(root, () => nodes);
	replaceContents(holder, root);
}
