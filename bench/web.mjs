// Measures for bench/web: prints "NAME VALUE" lines. web.mjs timeline WHYSLOW TRACE CHROMIUM | series WHYSLOW STORE CHROMIUM |
// press WHYSLOW STORE RUN-DIR FIGURE CHROMIUM
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [what, whyslow, ...rest] = process.argv.slice(2);
const executablePath = rest.pop();
const folder = mkdtempSync(join(tmpdir(), "whyslow-bench-web-"));
// A frame lasts as long as it takes, not until the display's next one: otherwise the least there is would be 16.7 ms.
const UNLIMITED = ["--disable-frame-rate-limit", "--disable-gpu-vsync"];
const median = (all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)];
let server, browser;

async function open(args, hash) {
	server = spawn(whyslow, ["serve", "--listen", "127.0.0.1:0", ...args, "--token-file", join(folder, "tokens")], { stdio: ["ignore", "pipe", "inherit"] });
	const address = await new Promise((resolve, reject) => {
		server.stdout.once("data", (d) => resolve(String(d).split("\n")[0]));
		server.once("exit", () => reject(new Error("whyslow serve ended")));
	});
	browser = await chromium.launch({ executablePath, args: ["--no-sandbox", ...UNLIMITED] });
	const p = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
	return { p, address, go: () => p.goto(address + hash.replace("#", "&")) };
}

// Frames between which the view moves on each: pans, then zooms in and out over a thousandfold.
async function timeline(trace) {
	const { p, go } = await open(["--from", trace], "#view=timeline");
	const answers = [];
	p.on("requestfinished", (r) => r.url().includes("/api/v1/timeline") && answers.push(r.timing().responseEnd));
	await go();
	await p.locator("#timeline .profile tbody tr").first().waitFor({ timeout: 60000 });
	await p.locator("#timeline .rows").focus();
	answers.length = 0;
	const frames = await p.evaluate(async () => {
		const canvas = document.querySelector("#timeline canvas.body"), times = [];
		const wheel = (init) => canvas.dispatchEvent(new WheelEvent("wheel", { bubbles: true, cancelable: true, offsetX: 400, clientX: canvas.getBoundingClientRect().left + 400, clientY: canvas.getBoundingClientRect().top + 100, ...init }));
		let before = await new Promise(requestAnimationFrame);
		for (let i = 0; i < 360; i++) {
			if (i % 120 < 60) wheel({ ctrlKey: true, deltaY: i % 240 < 120 ? -28 : 28 });
			else wheel({ deltaX: i % 60 < 30 ? 25 : -25 });
			const now = await new Promise(requestAnimationFrame);
			times.push(now - before);
			before = now;
		}
		return times;
	});
	console.log(`web.timeline_frame_ms ${median(frames).toFixed(2)}`);
	console.log(`web.timeline_answer_ms ${Math.max(...answers).toFixed(0)}`);
}

async function series(store) {
	const { p, address } = await open(["--from", store], "");
	let bytes = 0;
	const session = await p.context().newCDPSession(p);
	await session.send("Network.enable");
	session.on("Network.loadingFinished", (e) => { bytes += e.encodedDataLength; });
	await p.goto(address);
	await p.locator("#chart canvas").waitFor({ timeout: 60000 });
	console.log(`web.first_load_kb ${(bytes / 1000).toFixed(0)}`);
	const state = await p.evaluate(async () => {
		const board = await fetch("/api/v1/board", { headers: { Authorization: `Bearer ${sessionStorage.getItem("whyslow.session")}` } }).then((r) => r.json());
		return { at: Date.parse(board.at) / 1000, pid: board.processes[0].pid };
	});
	const times = [];
	for (let i = 0; i < 5; i++) {
		times.push(await p.evaluate(async ({ at, pid }) => {
			const began = performance.now();
			const old = document.querySelector("#chart canvas");
			location.hash = `#at=@${at}&pid=${pid}&feature=cpu.time&from=${at - 604800 + Math.random()}&to=${at}`;
			while (document.querySelector("#chart canvas") === old || !document.querySelector("#chart canvas")) await new Promise((r) => setTimeout(r, 5));
			return performance.now() - began;
		}, state));
		await p.waitForTimeout(300);
	}
	console.log(`web.series_7d_ms ${median(times.slice(1)).toFixed(0)}`);
}

// From the verb's start, which is the press, to the answer's first sentence on the page that is open.
async function press(store, runDir, figure) {
	const { p, go } = await open(["--store", store, "--run-dir", runDir], "");
	await go();
	await p.locator("#process-list tbody tr").first().waitFor({ timeout: 60000 });
	await p.waitForTimeout(3000);
	const began = performance.now();
	const made = JSON.parse(execFileSync(whyslow, ["mark", "--json", "measured", "--store", store, "--run-dir", runDir], { encoding: "utf8" }));
	await p.waitForFunction((id) => new URLSearchParams(location.hash.slice(1)).get("mark") === String(id) && document.querySelector("#incidents .answer"), made.id, { timeout: 60000, polling: 20 });
	console.log(`${figure} ${((performance.now() - began) / 1000).toFixed(2)}`);
}

try {
	await { timeline, series, press }[what](...rest);
} finally {
	await browser?.close();
	server?.kill("SIGTERM");
	rmSync(folder, { recursive: true, force: true });
}
