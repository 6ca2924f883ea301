// The timeline in a real browser: timeline.mjs WHYSLOW BENCH-TIMELINE MAKE-INCIDENT: 400
// threads of made-up work, and an incident. Moves by mouse, keys and address; what it shows is compared with what
// the verb says.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atEverySize, launch, newPage, noSeriousFindings, problems, serve, shots } from "./harness.mjs";

const [whyslow, makeTrace, makeIncident] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "whyslow-timeline-"));
const trace = join(folder, "events.trace"), incident = join(folder, "incident.trace");
const servers = [];
let browser;

async function served(file) {
	const { process, address } = await serve(whyslow, folder, ["--from", file]);
	servers.push(process);
	return address;
}

async function open(address, hash) {
	const p = await newPage(browser);
	p.setDefaultTimeout(60000);
	await p.goto(`${address}#view=timeline${hash}`);
	await p.locator("#timeline .name").first().waitFor();
	await p.locator("#timeline .profile tbody tr").first().waitFor();
	return p;
}

const api = (p, path) => p.evaluate((u) => asked(u).then((r) => r.json()), `/api/v1/${path}`);
const part = (p, key) => new URLSearchParams(new URL(p.url()).hash.slice(1)).get(key);
const when = (p, key) => p.waitForFunction((k) => new URLSearchParams(location.hash.slice(1)).has(k), key);
const span = (p) => Number(part(p, "to")) - Number(part(p, "from"));
const seen = (p) => p.locator("#timeline .profile .hint").first().textContent();
const shot = (p, name) => (shots ? p.screenshot({ path: join(shots, `${name}.png`) }) : null);
const colours = (p) => p.evaluate(() => {
	const c = document.querySelector("#timeline canvas.body"), d = new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer);
	return new Set(d).size;
});

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
	await p.waitForFunction((n) => document.querySelector("#timeline .profile tbody tr td.number").textContent === n, ran);
}

async function keyboard(p) {
	await p.locator("#timeline .rows").focus();
	await p.keyboard.press("0");
	await p.waitForFunction(() => !location.hash.includes("from="));
	for (let i = 0; i < 12; i++) await p.keyboard.press("+");
	await p.waitForFunction(() => { const s = new URLSearchParams(location.hash.slice(1)); return s.has("from") && Number(s.get("to")) - Number(s.get("from")) < 0.0002; });
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

// The chosen thread's process is taken out, and comes back.
async function hideAndShow(p) {
	const hides = p.locator("#timeline .name:not(.group)").nth(1), number = (await hides.textContent()).match(/\d+$/)[0];
	await hides.click();
	await p.keyboard.press("h");
	await p.waitForFunction((tid) => ![...document.querySelectorAll("#timeline .name:not(.group)")].some((e) => e.textContent.endsWith(` ${tid}`)), number);
	assert.match(part(p, "hide"), /^\d+$/);
	await p.getByRole("button", { name: "Show 1 hidden" }).click();
	await p.waitForFunction((tid) => [...document.querySelectorAll("#timeline .name:not(.group)")].some((e) => e.textContent.endsWith(` ${tid}`)), number);
	assert.equal(part(p, "hide"), null);
}

// The editor waits for a lock of the kernel that the culprit holds: its interval says so, and the path leads there.
async function knownIncident() {
	const address = await served(incident), p = await open(address, "");
	const a = await api(p, "timeline?points=2000&filter=editor");
	const start = BigInt(a.recorded.start.replace(".", ""));
	let waits = null;
	for (let i = 1n; i < 200n && !waits; i++) {
		const ns = String(start + i * BigInt(a.recorded.ns) / 200n), when = `${ns.slice(0, -9)}.${ns.slice(-9)}`;
		const found = await api(p, `instant?tid=103&at=@${when}`);
		if (found.state === "kernel_lock") waits = { when, found };
	}
	assert.ok(waits, "the editor waits for a lock");
	assert.equal(waits.found.holder?.name ?? waits.found.in_the_way[0].thread.name, "guilty");
	const from = Number(waits.found.interval.start);
	const q = await open(address, `&tid=103&pid=101&when=${waits.when}&path=1&from=${(from - 0.08).toFixed(9)}&to=${(from + 0.16).toFixed(9)}`);
	await q.locator("#timeline .instant", { hasText: "guilty" }).waitFor();
	await q.locator("#timeline .name.lit", { hasText: "guilty" }).waitFor();
	assert.ok((await q.locator("#timeline .instant ol.stack li").count()) > 1, "stacks are shown");
	await noSeriousFindings(q, "incident");
	await shot(q, "timeline-incident-1440-light");
}

try {
	execFileSync(makeTrace, ["300000", trace]);
	execFileSync(makeIncident, [incident]);
	const address = await served(trace);
	browser = await launch();
	const p = await open(address, "");
	await rowsAreTheVerbs(p);
	await mouse(p);
	await profileIsOfWhatIsSeen(p);
	await keyboard(p);
	await instant(p);
	await shot(p, "timeline-interval-1440-light");
	await noSeriousFindings(p, "timeline");
	await addressIsAll(p, address);
	const address2 = new URL(p.url()).hash.slice(1);
	await filterAndFold(p);
	await hideAndShow(p);
	const q = await open(address, `&${address2}`);
	await q.locator("#timeline .instant strong").waitFor();
	await atEverySize(q, "timeline");
	await q.context().close();
	await knownIncident();
	// of a trace alone there is no board: the page asks for one, and says that there is none
	assert.deepEqual(problems.filter((t) => !/status of (404|503)/.test(t)), []);
	console.log("the timeline works");
} finally {
	await browser?.close();
	for (const s of servers) s.kill("SIGTERM");
	rmSync(folder, { recursive: true, force: true });
}
