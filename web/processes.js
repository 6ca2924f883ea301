import { addButton, choosableTable, element, oddBar, replaceContents } from "./dom.js";
import { formatValue } from "./format.js";

const COLUMNS = [["cpu.time", "CPU"], ["cpu.run_delay", "CPU wait"], ["mem.anon", "memory"], ["io.read_bytes", "read"], ["io.write_bytes", "written"],
	["delay.block", "disk wait"], ["net.rx_bytes", "received"], ["net.tx_bytes", "sent"]];
const NARROW = 1, MIDDLE = 6; // columns that a phone shows, and those that fit next to the features

function reason(p) {
	const odd = p.unusual[0];
	if (!odd || odd.score < 0.05) return "";
	const usual = odd.usual === null ? "" : odd.new ? ", was not running before" : `, normally ${formatValue(odd.usual, odd.unit)}`;
	return `${odd.name} ${formatValue(odd.value, odd.unit)}${usual}`;
}

const passes = (p, filter) => !filter || String(p.pid) === filter ||
	[p.label, p.name, p.unit, p.place, p.cmdline].some((t) => t && t.toLowerCase().includes(filter.toLowerCase()));

// onAdd(pid): its curve is wanted next to the chosen one's.
export function drawProcesses(holder, board, { chosen, filter, onChoose, onAdd }) {
	const at = Object.fromEntries(board.columns.map((c, i) => [c.name, i]));
	const unit = Object.fromEntries(board.columns.map((c) => [c.name, c.unit]));
	const measured = COLUMNS.filter(([name]) => board.processes.some((p) => (p.values[at[name]] ?? null) !== null)); // a column of "?" says nothing
	const rows = board.processes.filter((p) => passes(p, filter)).map((p) => ({
		key: String(p.pid),
		kind: p.culprit_score > 0 ? "guilty" : null,
		titles: [reason(p), null, [p.cmdline || p.exe || p.name, p.place].filter(Boolean).join("\n")],
		cells: [oddBar(p.score, p.log_likelihood), String(p.pid), p.label,
			...measured.map(([name]) => formatValue(p.values[at[name]], unit[name])), reason(p), addButton(`overlay this metric for ${p.label} (${p.pid})`, () => onAdd(String(p.pid)))],
	}));
	if (!rows.length) return replaceContents(holder, element("p", { class: "hint" }, filter ? `No process has “${filter}” in its name, unit, container or command line, or this number.` : "No processes."));
	const columns = [{ title: board.model === "gaussian" ? "log-likelihood" : board.model === "blame" ? "culprit" : "anomaly" }, { title: "pid", class: "number" }, { title: "program", class: "name" },
		...measured.map(([, title], i) => ({ title, class: i < NARROW ? "number" : i < MIDDLE ? "number wide" : "number widest" })), { title: "most unusual", class: "reason widest" }, { title: "", class: "kept" }];
	replaceContents(holder, choosableTable({ label: "processes; + overlays this metric for one", columns, rows, chosen, onChoose, press: { "+": onAdd } }));
}
