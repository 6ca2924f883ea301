// The timeline in a real browser: timeline.mjs WHYSLOW TRACE CHROMIUM [SCREENSHOT-FOLDER]; the trace is bench/timeline's: 400
// threads of made-up work. Moves by mouse, keys and address; what it shows is compared with what the verb says.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [whyslow, trace, browserPath, shots] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const folder = mkdtempSync(join(tmpdir(), "whyslow-timeline-"));
const problems = [];
let server, browser;

async function serve() {
	server = spawn(whyslow, ["serve", "--listen", "127.0.0.1:0", "--from", trace, "--token-file", join(folder, "tokens")], { stdio: ["ignore", "pipe", "inherit"] });
	return new Promise((resolve, reject) => {
		server.stdout.once("data", (d) => resolve(String(d).split("\n")[0]));
		server.once("exit", () => reject(new Error("whyslow serve ended")));
	});
}

async function open(address, hash, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
	const p = await context.newPage();
	// a trace alone has no recording of counters: the page asks for one, and is told so
	p.on("console", (m) => m.type() === "error" && !/status of 404|status of 503/.test(m.text()) && problems.push(`console: ${m.text()}`));
	p.on("pageerror", (e) => problems.push(`page: ${e.stack}`));
	await p.goto(`${address}#view=timeline${hash}`);
	await p.locator("#timeline .name").first().waitFor();
	await p.locator("#timeline .profile tbody tr").first().waitFor();
	return p;
}

const api = (p, path) => p.evaluate((u) => fetch(u).then((r) => r.json()), `/api/v1/${path}`);
const part = (p, key) => new URLSearchParams(new URL(p.url()).hash.slice(1)).get(key);
const when = (p, key) => p.waitForFunction((k) => new URLSearchParams(location.hash.slice(1)).has(k), key);
const span = (p) => Number(part(p, "to")) - Number(part(p, "from"));
const seen = (p) => p.locator("#timeline .profile .hint").first().textContent();
const shot = (p, name) => (shots ? p.screenshot({ path: join(shots, `${name}.png`) }) : null);
const colours = (p) => p.evaluate(() => {
	const c = document.querySelector("#timeline canvas.body"), d = new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer);
	return new Set(d).size;
});

async function noSeriousFindings(p, what) {
	const cdp = await p.context().newCDPSession(p);
	await cdp.send("Runtime.evaluate", { expression: axe });
	const found = await p.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
	const serious = found.violations.filter((v) => ["serious", "critical"].includes(v.impact));
	assert.deepEqual(serious.map((v) => `${what}: ${v.id}: ${v.nodes[0].target}`), []);
	assert.ok(await p.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${what}: the page is wider than the window`);
}

async function rowsAreTheVerbs(p) {
	const a = await api(p, "timeline?points=100&rows=10");
	const first = a.rows.lines.filter((l) => l.tid !== null).map((l) => String(l.tid));
	const shown = await p.locator("#timeline .name:not(.group)").evaluateAll((all) => all.map((e) => e.textContent.match(/(\d+)$/)[1]));
	assert.deepEqual(shown.slice(0, first.length), first, "rows in the verb's order");
	assert.ok((await colours(p)) > 3, "states are drawn");
}

async function mouse(p) {
	const box = await p.locator("#timeline canvas.body").boundingBox();
	await p.mouse.move(box.x + box.width * 0.4, box.y + 60);
	await p.mouse.down();
	await p.mouse.move(box.x + box.width * 0.5, box.y + 60, { steps: 4 });
	await p.mouse.up();
	await when(p, "from");
	const dragged = span(p);
	const recorded = (await api(p, "timeline?points=1&rows=1")).recorded.ns / 1e9;
	assert.ok(Math.abs(dragged - recorded / 10) < recorded / 50, `a tenth was dragged: ${dragged} of ${recorded}`);
	const zoomed = seen(p);
	await p.keyboard.down("Control");
	await p.mouse.wheel(0, -400);
	await p.keyboard.up("Control");
	await p.waitForFunction((old) => { const s = new URLSearchParams(location.hash.slice(1)); return Number(s.get("to")) - Number(s.get("from")) < old * 0.9; }, dragged);
	await p.waitForFunction((old) => document.querySelector("#timeline .profile .hint").textContent !== old, await zoomed);
}

async function profileIsOfWhatIsSeen(p) {
	await p.waitForTimeout(500); // settled
	const a = await api(p, `timeline?points=1&rows=1&since=@${part(p, "from")}&until=@${part(p, "to")}`);
	const ran = (a.sums.running / a.window.ns).toFixed(2);
	assert.equal(await p.locator("#timeline .profile tbody tr", { hasText: /^running\s*[\d.]/ }).first().locator("td.number").first().textContent(), ran);
}

async function keyboard(p) {
	await p.locator("#timeline .rows").focus();
	await p.keyboard.press("0");
	await p.waitForFunction(() => !location.hash.includes("from="));
	for (let i = 0; i < 12; i++) await p.keyboard.press("+");
	await when(p, "from");
	assert.ok(span(p) < 0.002, `to ${span(p)} s`);
	const before = Number(part(p, "from"));
	await p.keyboard.press("ArrowRight");
	await p.waitForFunction((f) => Number(new URLSearchParams(location.hash.slice(1)).get("from")) > f, before);
	await p.keyboard.press("ArrowDown");
	await when(p, "tid");
	await p.keyboard.press("ArrowDown");
	await p.waitForFunction(() => document.querySelectorAll('#timeline .name[aria-selected="true"]').length === 1);
	await p.keyboard.press("Enter");
	await when(p, "when");
	await p.locator("#timeline .instant strong", { hasText: part(p, "tid") }).waitFor();
	const told = await p.locator("#timeline .instant").textContent(), moment = part(p, "when");
	await p.keyboard.press(".");
	await p.waitForFunction((m) => new URLSearchParams(location.hash.slice(1)).get("when") !== m, moment);
	await p.waitForFunction((t) => document.querySelector("#timeline .instant").textContent !== t, told);
	await p.keyboard.press("p");
	await p.locator("#timeline .name.lit").first().waitFor();
	assert.match(await p.locator("#timeline .name.lit").first().textContent(), new RegExp(part(p, "tid")));
}

// A click is answered with the interval that the verb knows of there.
async function instant(p) {
	const a = await api(p, `instant?tid=${part(p, "tid")}&at=@${part(p, "when")}`);
	const text = await p.locator("#timeline .instant").textContent();
	assert.ok(text.includes(a.text), `${a.text} in ${text}`);
	assert.ok(Number(a.interval.start) <= Number(part(p, "when")) && Number(part(p, "when")) <= Number(a.interval.end));
}

async function addressIsAll(p, address) {
	const copy = await open(address, `&${new URL(p.url()).hash.slice(1)}`);
	await copy.locator("#timeline .instant strong").waitFor();
	await copy.waitForTimeout(500);
	assert.equal(await copy.locator("#timeline .instant").textContent(), await p.locator("#timeline .instant").textContent());
	assert.equal(await copy.locator('#timeline .name[aria-selected="true"]').textContent(), await p.locator('#timeline .name[aria-selected="true"]').textContent());
	assert.equal(await seen(copy), await seen(p));
	await copy.context().close();
}

async function filterAndFold(p) {
	await p.keyboard.press("Escape");
	await p.keyboard.press("/");
	await p.keyboard.type("thread25");
	await p.waitForFunction(() => { const all = [...document.querySelectorAll("#timeline .name")]; return all.length === 5 && all.every((e) => e.textContent.includes("thread25")); });
	await p.locator("#timeline .name.group").click();
	await p.waitForFunction(() => document.querySelectorAll("#timeline .name").length === 1);
	assert.match(part(p, "fold"), /^\d+$/);
	await p.locator("#timeline .name.group").click();
	await p.waitForFunction(() => document.querySelectorAll("#timeline .name").length === 5);
}

try {
	const address = await serve();
	browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
	const p = await open(address, "");
	await rowsAreTheVerbs(p);
	await shot(p, "timeline-1440-light");
	await mouse(p);
	await profileIsOfWhatIsSeen(p);
	await keyboard(p);
	await instant(p);
	await shot(p, "timeline-interval-1440-light");
	await noSeriousFindings(p, "timeline");
	await addressIsAll(p, address);
	const address2 = new URL(p.url()).hash.slice(1);
	await filterAndFold(p);
	for (const [width, colorScheme] of [[1440, "dark"], [1024, "light"], [1024, "dark"], [390, "light"], [390, "dark"]]) {
		const q = await open(address, `&${address2}`, { viewport: { width, height: 900 }, colorScheme });
		await q.locator("#timeline .instant strong").waitFor();
		await noSeriousFindings(q, `timeline ${width} ${colorScheme}`);
		await shot(q, `timeline-${width}-${colorScheme}`);
		await q.context().close();
	}
	assert.deepEqual(problems, []);
	console.log("the timeline works");
} finally {
	await browser?.close();
	server?.kill("SIGTERM");
	rmSync(folder, { recursive: true, force: true });
}
