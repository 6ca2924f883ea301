// The web view on a living recorder: live.mjs WHYSLOW. Needs root. Two programs burn one CPU and so keep each
// other from it; something presses the page's button; the answer, the timeline, the blame, the flame graph and the way back to the
// moment show it. Nothing is timed: whatever the machine does besides, these two wait for each other.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launch, newPage, noSeriousFindings, problems, serve, shots } from "./harness.mjs";

const [whyslow] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "whyslow-live-"));
const store = join(folder, "r.db"), here = ["--store", store, "--run-dir", folder];
const PATIENCE = 120000; // ms: a starved machine
const running = [];
let browser;

function start(program, args, options = {}) {
	const process = spawn(program, args, { stdio: "ignore", ...options });
	running.push(process);
	return process;
}

function burn(name) {
	const program = join(folder, name);
	copyFileSync("/bin/bash", program);
	return start("setpriv", ["--pdeathsig", "KILL", "taskset", "-c", "0", program, "-c", "while :; do :; done"]).pid;
}

async function record() {
	if (process.getuid()) {
		console.log("needs root for BPF");
		process.exitCode = 77;
		return null;
	}
	const recorder = start(whyslow, ["record", ...here], { stdio: ["ignore", "ignore", "pipe"] });
	let said = "";
	await new Promise((resolve, reject) => {
		recorder.stderr.on("data", (d) => { said += d; if (/recording every process/.test(said)) resolve(); });
		recorder.once("exit", () => reject(new Error(`the recorder ended: ${said}`)));
	});
	if (/no flight recorder/.test(said)) {
		console.log(`skipped: ${said}`);
		process.exitCode = 77;
		return null;
	}
	return recorder;
}

const text = (p, selector) => p.locator(selector).first().innerText();
const part = (p, key) => new URLSearchParams(new URL(p.url()).hash.slice(1)).get(key);
const go = (p, patch) => p.evaluate((q) => { location.hash = String(new URLSearchParams({ ...Object.fromEntries(new URLSearchParams(location.hash.slice(1))), ...q })); }, patch);
const shot = (p, name) => (shots ? p.screenshot({ path: join(shots, `live-${name}.png`), fullPage: true }) : null);

// From what is shown by itself to the press, and the answer to it.
async function press(p) {
	await p.locator("#process-list tbody tr", { hasText: "guilty" }).first().waitFor();
	await p.locator("#verdict .summary").waitFor();
	await p.waitForFunction(() => !document.getElementById("status").textContent.startsWith("reading"));
	await shot(p, "machine");
	await p.fill("#note", "it hurts");
	await p.click("#mark button");
	await p.locator("#incident-list", { hasText: "it hurts" }).waitFor();
	await p.locator("#incident .answer .summary").waitFor();
	await shot(p, "incident");
	return part(p, "mark");
}

async function timeline(p, pids) {
	await go(p, { view: "timeline", filter: "guilty" });
	const row = p.locator("#timeline .name", { hasText: String(pids.guilty) }).first();
	await row.waitFor();
	await p.locator("#timeline .profile tbody tr").first().waitFor();
	await row.click();
	await p.waitForFunction((pid) => new URLSearchParams(location.hash.slice(1)).get("tid") === pid, String(pids.guilty));
	// it ran, and it waited for the CPU that the other had
	await p.waitForFunction(() => /waited [1-9]\d* %, ran [1-9]\d* %/.test(document.querySelector('#timeline .name[aria-selected="true"]')?.getAttribute("aria-label") ?? ""));
	await p.locator("#timeline .rows").focus();
	await p.keyboard.press("Enter");
	await p.locator("#timeline .instant strong", { hasText: "guilty" }).waitFor();
	await noSeriousFindings(p, "timeline of a living recorder");
	await shot(p, "timeline");
}

async function blame(p, pids) {
	await go(p, { view: "blame", filter: "", top: "64", wait: "cpu" });
	const cell = p.locator(`#blame td.heat[title^="innocent (${pids.innocent}) because of guilty (${pids.guilty})"]`);
	await cell.waitFor();
	await cell.click();
	await p.waitForFunction(() => /^innocent .* waited .* because of guilty .* for a CPU in \d+ parts?/.test(document.querySelector("#blame .chosen").textContent));
	await shot(p, "blame");
}

async function flame(p, pids) {
	await go(p, { view: "flame", who: String(pids.guilty) });
	await p.locator('#flame tr[data-key="guilty"]').waitFor();
	await p.waitForFunction(() => /^all: .* 100 % of all/.test(document.querySelector("#flame .said").textContent));
	await shot(p, "flame");
}

// Without a mark: the recorder is asked for what it holds now.
async function now(p, pids) {
	await go(p, { view: "blame", mark: "", cell: "" });
	await p.locator(`#blame td.heat[title^="guilty (${pids.guilty}) because of innocent (${pids.innocent})"]`).waitFor();
}

// When nothing records any more, the page says so instead of waiting for ever.
async function ended(p, recorder) {
	await p.goto(`${new URL(p.url()).origin}/#view=machine`);
	await p.locator("#process-list tbody tr").first().waitFor();
	recorder.kill("SIGTERM");
	await p.waitForFunction(() => /no recorder is running: the recording ends at /.test(document.getElementById("status").textContent));
}

try {
	mkdirSync(folder, { recursive: true });
	const recorder = await record();
	if (recorder) {
		const pids = { innocent: burn("innocent"), guilty: burn("guilty") };
		const server = await serve(whyslow, folder, ["--store", store]);
		running.push(server.process);
		browser = await launch();
		const p = await newPage(browser);
		p.setDefaultTimeout(PATIENCE);
		await p.goto(server.address);
		const mark = await press(p);
		assert.match(execFileSync(whyslow, ["list", ...here], { encoding: "utf8" }), /it hurts/);
		await timeline(p, pids);
		await blame(p, pids);
		await flame(p, pids);
		assert.equal(part(p, "mark"), mark, "all of it is of that press");
		await now(p, pids);
		await ended(p, recorder);
		assert.deepEqual(problems.filter((t) => !/status of 404/.test(t)), []); // no inspections were kept
		console.log("the web view shows a living recorder");
	}
} finally {
	await browser?.close();
	for (const one of running.reverse()) one.kill("SIGTERM");
	await Promise.all(running.map((one) => (one.exitCode ?? one.signalCode) === null && new Promise((done) => one.once("exit", done))));
	rmSync(folder, { recursive: true, force: true });
}
