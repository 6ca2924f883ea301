// What the panes' tests look at: a recording with two marks and their events, traced requests, a fleet. The data have known answers:
// the culprit holds the lock and the CPU (make-incident), agent 1.7.0 is slow on gen6 (make-spans), web-03 gets more requests than it can
// serve (below).
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const FLEET_START = 1700000000, ROWS = 600, BEGIN = 540, END = 555;

function record({ whyslow, makeRecording, makeIncident }, folder, file) {
	const made = execFileSync(makeRecording, [file("r.db"), "--hours", "0.2", "--processes", "20", "--active", "8", "--seed", "5"], { encoding: "utf8" }), end = Number(/^end (\d+)$/m.exec(made)[1].slice(0, -9));
	mkdirSync(file("traces"));
	execFileSync(makeIncident, [file("traces/1.trace")]);
	execFileSync(makeIncident, [file("traces/2.trace"), "more"]);
	execFileSync(makeIncident, [file("profiles"), "profiles"]);
	for (const note of ["editor hangs", "editor hangs again"]) {
		execFileSync(whyslow, ["mark", "--store", file("r.db"), "--run-dir", folder, note]);
		// as if it had been pressed then: within the recording, and not twice at a time
		execFileSync("sqlite3", [file("r.db"), `update mark set wall = ${end - 5} * 1000000000 - id * 20000000000, last = ${end - 5} * 1000000000 - id * 20000000000; vacuum`]);
	}
	return end;
}

function recordSpans({ whyslow, makeSpans }, file, spans) {
	writeFileSync(file("spans.otlp"), execFileSync(makeSpans, ["otlp", String(spans), "1", "story"], { maxBuffer: 1 << 28 }));
	const store = ["--store", file("spans.db")];
	execFileSync(whyslow, ["spans", "load", file("spans.otlp"), ...store]);
	const begins = JSON.parse(spawnSync(whyslow, ["spans", "groups", "--json", ...store], { encoding: "utf8", maxBuffer: 1 << 28 }).stdout).times.find((t) => t.package === "agent" && t.version === "1.7.0").from;
	writeFileSync(file("deployed.json"), JSON.stringify({ package: "agent", version: "1.7.0", time: begins }));
	execFileSync(whyslow, ["spans", "load", "--deployments", file("deployed.json"), ...store]);
}

// A server's row a minute: it depends on nothing but its place.
function recordFleet({ whyslow }, file) {
	mkdirSync(file("csv"));
	let seed = 7;
	const roll = () => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed / 2147483648; };
	for (let s = 0; s < 8; s++) {
		const lines = ["time,cpu,requests,queue"];
		for (let t = 0; t < ROWS; t++) {
			const ill = s === 3 && t >= BEGIN && t < END;
			lines.push(`${FLEET_START + 60 * t},${((30 + 8 * Math.sin(t / 100) + roll()) * (ill ? 1.4 : 1)).toFixed(3)},${((200 + 50 * Math.sin(t / 100) + 4 * roll()) * (ill ? 1.5 : 1)).toFixed(3)},${(3 + roll() + (ill ? 9 : 0)).toFixed(3)}`);
		}
		writeFileSync(file(`csv/web-0${s}.csv`), `${lines.join("\n")}\n`);
	}
	execFileSync(whyslow, ["fleet", "load", file("csv"), "--output", file("made.fleet")]);
}

// `programs`: { whyslow, makeRecording, makeIncident, makeSpans }. `spans`: how many; what is slow is known of 300,000. Returns { options: those of `whyslow serve`, end: the recording's, in s }.
export function recordAll(folder, programs, spans = 300000) {
	const file = (name) => join(folder, name);
	const end = record(programs, folder, file);
	recordSpans(programs, file, spans);
	recordFleet(programs, file);
	return { options: ["--store", file("r.db"), "--spans", file("spans.db"), "--fleet", file("made.fleet")], end };
}
