// Logging in as a person does: login.mjs WHYSLOW MAKE-RECORDING. By the address that is printed, by `whyslow open`, by a token; what a
// reload, a new tab, logging out and the end of a session lead to; and what stands in none of the places where others could read it.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atEverySize, launch, noSeriousFindings, problems, serve, shots } from "./harness.mjs";

const [whyslow, makeRecording] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "whyslow-login-"));
const store = join(folder, "r.db"), options = ["--store", store], where = [...options, "--run-dir", folder];
let server, browser;

const run = (...words) => execFileSync(whyslow, words, { encoding: "utf8" });
const shot = (p, name) => (shots ? p.screenshot({ path: join(shots, `${name}.png`), fullPage: true }) : null);

async function stranger(context) {
	const p = await (context ?? await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
	p.on("pageerror", (e) => problems.push(`page: ${e.message}`));
	return p;
}

const isIn = (p) => p.locator("#log-out").waitFor({ timeout: 60000 });
const showsAnswers = (p) => p.locator("#process-list tbody tr").first().waitFor({ timeout: 60000 });
async function isOut(p, why) {
	await p.locator("#door-why", { hasText: why }).waitFor();
	assert.equal(await p.locator("#process-list tbody tr").count(), 0, `${why}: answers are still in the page`);
	assert.equal(await p.locator("#log-out").isVisible(), false);
}

async function withoutLogin() {
	const p = await stranger();
	await p.goto(server.address);
	await isOut(p, "You are not logged in.");
	await noSeriousFindings(p, "the door");
	await p.keyboard.press("Escape");
	assert.ok(await p.locator("#door").isVisible(), "the door goes away by Escape");
	await shot(p, "login-door");
	await p.locator("#door-token").fill("x".repeat(30));
	await p.keyboard.press("Enter");
	await p.locator("#door-said", { hasText: "Login failed: this token is not known here" }).waitFor();
	await p.context().close();
}

// By the printed address: the code is gone from the address and from the history, a reload and another tab know who is logged in, and
// no cookie was set that another port would get.
async function byAddress(at) {
	const p = await stranger(), asked = [];
	p.on("request", (r) => asked.push(r.url()));
	await p.goto(`${server.address}#at=@${at}&login=${server.code}`);
	await showsAnswers(p);
	assert.doesNotMatch(p.url(), /login=/);
	assert.match(p.url(), /at=(@|%40)/);
	assert.ok(asked.every((u) => !u.split("#")[0].includes(server.code)), "the code went over the network in an address");
	await shot(p, "login-in");
	await p.reload();
	await showsAnswers(p);
	await shot(p, "login-reloaded");
	assert.deepEqual(await p.context().cookies(), []);
	const tab = await stranger(p.context());
	await tab.goto(`${server.address}#at=@${at}`);
	await showsAnswers(tab);
	return [p, tab];
}

async function onceOnly() {
	const p = await stranger();
	await p.goto(`${server.address}#login=${server.code}`);
	await isOut(p, "Login failed: this login link was used already, or is too old.");
	await shot(p, "login-used");
	await p.context().close();
}

// A server of another user on another port of this host is visited from the page.
async function anotherPort(p) {
	const got = [];
	const other = createServer((request, response) => { got.push(JSON.stringify(request.headers) + request.url); response.end("hello"); });
	await new Promise((then) => other.listen(0, "127.0.0.1", then));
	const session = await p.evaluate(() => sessionStorage.getItem("whyslow.session"));
	const q = await stranger(p.context());
	await q.goto(`http://127.0.0.1:${other.address().port}/`);
	assert.equal(await q.evaluate(() => sessionStorage.length), 0);
	await q.close();
	assert.ok(got.length && got.every((text) => !text.includes(session) && !/cookie/i.test(text)), `another port got ${got}`);
	other.close();
}

async function loggedOut([p, tab]) {
	await p.locator("#log-out").click();
	await isOut(p, "You are logged out.");
	await isOut(tab, "You are logged out.");
	await shot(p, "login-out");
	await p.reload();
	await isOut(p, "You are not logged in.");
	await p.context().close();
}

// `open` starts the browser with a file that only its user may read, and takes it away once it was used.
async function byOpen(at) {
	const argv = join(folder, "argv"), script = join(folder, "xdg-open");
	writeFileSync(script, `#!/bin/sh\nprintf '%s\\n' "$@" >${argv}.new\nmv ${argv}.new ${argv}\n`, { mode: 0o755 });
	const open = spawn(whyslow, ["open", ...where], { env: { ...process.env, DISPLAY: ":99", PATH: `${folder}:${process.env.PATH}` }, stdio: ["ignore", "pipe", "inherit"] });
	let said = "";
	open.stdout.on("data", (d) => { said += d; });
	while (!existsSync(argv)) await new Promise((then) => setTimeout(then, 20));
	const [page] = readFileSync(argv, "utf8").split("\n");
	const code = /login=([0-9a-f]+)/.exec(readFileSync(page, "utf8"))[1];
	assert.equal(statSync(page).mode & 0o777, 0o600);
	assert.ok(!readFileSync(argv, "utf8").includes(code), "the code stands in a command line");
	const p = await stranger();
	await p.goto(`file://${page}`);
	await isIn(p);
	await new Promise((then) => (open.exitCode === null ? open.once("exit", then) : then()));
	assert.match(said, /opened in the browser/);
	assert.equal(existsSync(page), false, "the file with the code is left");
	await p.goto(`${server.address}#at=@${at}`);
	await showsAnswers(p);
	return p;
}

// Ended elsewhere, while the page is open: it says so, and how to come back.
async function ended(p) {
	assert.match(run("serve", "--sessions", ...where), /: 1 logged in\n.*scope all/);
	assert.match(run("serve", "--end-session", "all", ...where), /^1 ended/);
	await isOut(p, "Your session has expired."); // it learns that by itself
	await p.locator("#door code", { hasText: "whyslow open" }).waitFor();
	await shot(p, "login-expired");
	await atEverySize(p, "login-expired");
	const again = run("open", ...where).trim(); // without a display it prints the address
	await p.goto(again);
	await isIn(p);
	await p.context().close();
}

async function byToken() {
	const token = run("serve", "--token-file", join(folder, "tokens"), "--add-token", "carl").trim();
	const p = await stranger();
	await p.goto(server.address);
	await isOut(p, "You are not logged in.");
	await p.locator("#door-token").fill(token);
	await p.keyboard.press("Enter");
	await isIn(p);
	await p.context().close();
}

try {
	const made = execFileSync(makeRecording, [store, "--hours", "0.2", "--processes", "20", "--active", "5", "--seed", "5"], { encoding: "utf8" });
	const at = Number(/^end (\d+)$/m.exec(made)[1].slice(0, -9)) - 5;
	delete process.env.DISPLAY;
	delete process.env.WAYLAND_DISPLAY;
	server = await serve(whyslow, folder, options);
	browser = await launch();
	await withoutLogin();
	const tabs = await byAddress(at);
	await onceOnly();
	await anotherPort(tabs[0]);
	await loggedOut(tabs);
	await ended(await byOpen(at));
	await byToken();
	assert.deepEqual(problems, []);
	console.log("logging in works");
} finally {
	await browser?.close();
	server?.process.kill("SIGTERM");
	rmSync(folder, { recursive: true, force: true });
}
