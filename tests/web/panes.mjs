// The panes of the web view in a real browser: panes.mjs WHYSLOW MAKE-RECORDING MAKE-INCIDENT MAKE-SPANS
// The data have known answers (fixture.mjs).
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BEGIN, END, FLEET_START, ROWS, recordAll } from "./fixture.mjs";
import { atEverySize, launch, newPage, noSeriousFindings, nothingWiderThanThePage, problems, serve, shots } from "./harness.mjs";

const [whyslow, makeRecording, makeIncident, makeSpans] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "whyslow-panes-"));
const file = (name) => join(folder, name);
let server, other, browser;

const go = async (p, address, hash) => { await p.goto(`${new URL(address).origin}/#${hash}`); };
const text = (p, selector) => p.locator(selector).first().innerText();
const hash = (p) => new URLSearchParams(new URL(p.url()).hash.slice(1));
const inAddress = (p, key, value) => p.waitForFunction(([k, v]) => (new URLSearchParams(location.hash.slice(1)).get(k) ?? "") === v, [key, value]);

// A saved answer is no wider than the window of a phone.
async function fitsAPhone(html, what) {
	const p = await browser.newPage({ viewport: { width: 390, height: 800 } });
	await p.setContent(html);
	if (shots) await p.screenshot({ path: join(shots, `${what.replace(" ", "-")}-390.png`), fullPage: true });
	await nothingWiderThanThePage(p, what);
	await p.close();
}

// Where it is when what comes later above it has come: a mouse goes to a place, not to an element.
async function placeOf(locator) {
	let before = null, now = await locator.boundingBox();
	while (JSON.stringify(now) !== JSON.stringify(before)) {
		await new Promise((resolve) => setTimeout(resolve, 300));
		before = now;
		now = await locator.boundingBox();
	}
	return now;
}

async function blame(p, address) {
	await go(p, address, "view=blame&mark=1");
	await p.locator("#blame td.heat").first().waitFor();
	// the editor waited for the lock that the culprit holds: half of that time the culprit ran, half of it waited itself
	await p.selectOption("#blame select >> nth=2", "lock");
	await inAddress(p, "wait", "lock");
	const cell = p.locator('#blame td.heat[title^="editor (103) because of guilty (101)"]');
	await cell.waitFor();
	await cell.click();
	await p.locator("#blame .chosen", { hasText: "waited" }).waitFor();
	assert.match(await text(p, "#blame .chosen"), /^editor \(103\) waited 2\d\d ms because of guilty \(101\): .* for a lock in \d+ parts/);
	// by keyboard: to the cell above or below, and chosen
	await p.keyboard.press("Escape");
	await inAddress(p, "wait", "");
	await p.locator('#blame td.heat[tabindex="0"]').focus();
	const before = await p.evaluate(() => document.activeElement.dataset.key);
	await p.keyboard.press("ArrowDown");
	assert.notEqual(await p.evaluate(() => document.activeElement.dataset.key), before);
	await p.keyboard.press("Enter");
	await p.waitForFunction(() => document.querySelector("#blame .chosen").textContent.includes("waited"));
	// sorting by a culprit orders its column
	await p.locator("#blame thead button", { hasText: "innocent" }).click();
	const column = await p.locator("#blame thead th").evaluateAll((all) => all.findIndex((th) => th.textContent.startsWith("innocent")));
	await p.waitForFunction((n) => {
		const heats = [...document.querySelectorAll(`#blame tbody tr td:nth-child(${n})`)].map((td) => parseFloat(td.style.getPropertyValue("--heat")) || 0);
		return heats.length > 1 && heats.every((h, i) => i === 0 || h <= heats[i - 1]);
	}, column + 1);
	// the flow names who and what, and chooses by Enter
	await p.locator('#blame .node.wait[aria-label^="a disk"]').focus();
	await p.keyboard.press("Enter");
	await inAddress(p, "wait", "disk");
	assert.match(await p.locator("#blame .node.victim").first().getAttribute("aria-label"), /^editor \(103\): /);
	// by thread, program
	await p.selectOption("#blame select >> nth=1", "program");
	await p.locator('#blame td.heat[title^="editor because of"]').first().waitFor();
	// waits in groups, by what is chosen
	await p.selectOption('#blame label:has-text("groups by") select', "process");
	await p.selectOption('#blame label:has-text("and by") select', "wait");
	await p.locator("#blame table.pivot th", { hasText: "state" }).waitFor();
	const group = p.locator("#blame table.pivot tbody tr", { hasText: "editor (103)" }).filter({ hasText: "waiting for a lock" });
	assert.match(await group.innerText(), /^[\d.]+ m?s\s+\d+ %\s+\d+\s+[\d.]+ m?s\s+[\d.]+ m?s\s+editor \(103\)\s+waiting for a lock of the kernel$/);
	// on a phone its cells are a list, the longest first, that needs no scrolling sideways
	await go(p, address, "view=blame&mark=1");
	await p.setViewportSize({ width: 390, height: 800 });
	await p.locator("#blame .matrix tbody td.name", { hasText: "innocent (102)" }).first().waitFor(); // by thread again
	assert.ok(await p.locator("#blame .matrix").evaluate((e) => e.scrollWidth <= e.clientWidth), "the list is as wide as the phone");
	assert.match(await text(p, "#blame .matrix tbody tr"), /^innocent \(102\)\s+guilty \(101\)\s+1\.0\d s$/);
	await p.locator("#blame .matrix tbody tr").first().click();
	await p.locator("#blame .chosen", { hasText: "innocent (102) waited 1.0" }).waitFor();
	await p.setViewportSize({ width: 1440, height: 900 });
	await p.locator("#blame td.heat").first().waitFor();
}

async function flame(p, address) {
	await go(p, address, "view=flame&mark=1");
	await p.locator("#flame tbody tr", { hasText: "guilty" }).waitFor();
	assert.match(await text(p, "#flame .said"), /^all: 2\.4\d s, 100 % of all/); // 6 samples a period, 20 periods, 49 a second
	// zoom by the list: the culprit, main, index_files; every step is in the address
	for (const name of ["guilty", "main", "index_files"]) await p.locator(`#flame tr[data-key="${name}"]`).click();
	await inAddress(p, "frame", "guilty;main;index_files");
	assert.match(await text(p, "#flame .said"), /^index_files: 1\.22 s, 50 % of all/);
	await p.locator('#flame tr[data-key="sort_table"]').waitFor();
	// by keyboard within the graph: out, down to the widest child, to its neighbor
	await p.locator("#flame canvas").focus();
	await p.keyboard.press("Escape");
	await inAddress(p, "frame", "");
	await p.waitForFunction(() => document.querySelector("#flame .said").textContent.startsWith("all: ")); // it is drawn
	await p.keyboard.press("ArrowDown");
	await p.waitForFunction(() => document.querySelector("#flame .said").textContent.startsWith("guilty: "));
	await p.keyboard.press("ArrowRight");
	await p.waitForFunction(() => document.querySelector("#flame .said").textContent.startsWith("innocent: "));
	await p.keyboard.press("Enter");
	await inAddress(p, "frame", "innocent");
	await p.keyboard.press("0");
	await inAddress(p, "frame", "");
	// search says how much it is
	await p.keyboard.press("/");
	await p.keyboard.type("draw");
	await p.waitForFunction(() => document.querySelector("#flame .said").textContent.includes("“draw” is in 33 %"));
	await p.locator('#flame input[type="search"]').fill("");
	// next to the other one: `rebuild` is new there
	await go(p, address, "view=flame&mark=2&base=1&frame=guilty;main;index_files;sort_table");
	await p.locator('#flame tr[data-key="rebuild"]').waitFor();
	assert.match(await text(p, '#flame tr[data-key="rebuild"]'), /rebuild\s+816 ms.*\+816 ms$/s);
	// off CPU, of one process: where the editor waited
	await go(p, address, "view=flame&mark=1&kind=waits&who=103");
	await p.waitForFunction(() => document.querySelectorAll("#flame tbody tr").length === 1); // until then what was shown before
	await p.locator('#flame tr[data-key="editor"]').waitFor();
	await p.locator('#flame input[type="search"]').fill("lock_index");
	await p.waitForFunction(() => /“lock_index” is in \d+ %/.test(document.querySelector("#flame .said").textContent));
}

// Stacks that are kept for days: of today next to those of yesterday, on CPUs and off.
async function keptFlame(p, address) {
	await go(p, address, "view=flame");
	await p.selectOption('#flame select[aria-label="which stacks"]', "kept");
	await inAddress(p, "kind", "kept");
	await p.locator('#flame tr[data-key="guilty"]', { hasText: "5.00 s" }).waitFor();
	for (const [key, label, day] of [["at", "kept at", "today"], ["against", "compared with", "yesterday"]]) {
		await p.locator("#flame label", { hasText: label }).locator("input").fill(day);
		await p.keyboard.press("Enter");
		await inAddress(p, key, day);
	}
	await p.locator('#flame tr[data-key="guilty"]', { hasText: "+2.00 s" }).waitFor();
	assert.match(await text(p, '#flame tr[data-key="innocent"]'), /innocent\s+1\.00 s.*1\.00 s\s+±0$/s);
	assert.match(await text(p, "#flame .toolbar .hint >> nth=-1"), /compared with .*, scaled to the same length: red is more than there/);
	// down to what is new today; the table and the sentence say the same
	for (const name of ["guilty", "main", "index_files", "sort_table"]) await p.locator(`#flame tr[data-key="${name}"]`).click();
	await p.locator('#flame tr[data-key="rebuild"]').waitFor();
	assert.match(await text(p, '#flame tr[data-key="rebuild"]'), /rebuild\s+2\.00 s.*\+2\.00 s$/s);
	assert.match(await text(p, "#flame .said"), /^sort_table: 5\.00 s.*; in the other window 3\.00 s \(\+2\.00 s\)$/);
	// off CPU: the sleeper's stack, and who woke it
	await p.selectOption('#flame select[aria-label="which stacks"]', "keptwaits");
	await p.keyboard.press("Escape");
	await inAddress(p, "frame", "");
	await p.locator('#flame tr[data-key="editor"]', { hasText: "+2.00 s" }).waitFor();
	for (const name of ["editor", "main", "edit", "lock_index", "[waiting for a lock]"]) await p.locator(`#flame tr[data-key="${name}"]`).click();
	await p.locator('#flame tr[data-key="[woken by guilty]"]', { hasText: "4.00 s" }).waitFor();
}

// An answer that was in time, from counters, is followed by the whole one.
async function lateEvents(p, address) {
	await p.route(/\/api\/v1\/incident\?/, async (route) => {
		const response = await route.fetch(), answer = await response.json(), waited = new URL(route.request().url()).searchParams.get("wait") === "1";
		await route.fulfill({ response, json: { ...answer, events_are_late: !waited, summary: waited ? "from events" : "from counters" } });
	});
	await go(p, address, "view=incidents&mark=1");
	await p.locator("#incident .answer .summary", { hasText: "from events" }).waitFor();
	await p.unroute(/\/api\/v1\/incident\?/);
}

// Two phases stand side by side, each with its inspections.
async function inspected(p, address) {
	const one = JSON.parse(execFileSync(whyslow, ["inspect", String(process.pid), "--json"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
	await p.route(/\/api\/v1\/captures\?/, (route) => route.fulfill({ json: { schema: "whyslow.captures/1", captures: [{ ...one, phase: 1 }, { ...one, phase: 2 }, { ...one, phase: 2, summary: "again" }] } }));
	await go(p, address, "view=incidents&mark=1");
	await p.locator("#incident .phases section", { hasText: "again" }).waitFor();
	const [first, second] = await p.locator("#incident .phases > div").all();
	assert.equal(await first.locator("section").count(), 1);
	assert.equal(await second.locator("section").count(), 2);
	assert.ok((await second.boundingBox()).x > (await first.boundingBox()).x, "the phases do not stand side by side");
	assert.match(await first.locator("tbody tr").first().textContent(), new RegExp(String(one.threads[0].tid)));
	await second.locator("a", { hasText: "flame graph" }).last().click();
	await inAddress(p, "kind", "capture2");
	await p.unroute(/\/api\/v1\/captures\?/);
}

async function incidents(p, address) {
	await go(p, address, "view=incidents");
	await p.locator("#history :is(.history-band, .hint)").first().waitFor(); // unusual times, or why none can be reported
	await p.locator("#incident-list tbody tr").nth(1).waitFor();
	await p.locator("#incident-list tr", { hasText: "hangs again" }).click();
	await inAddress(p, "mark", "2");
	await p.locator("#incident h2", { hasText: "Mark 2" }).waitFor();
	await p.locator("#incident .answer .summary").waitFor();
	assert.ok((await p.locator("#incident .answer meter").count()) > 0, "what was waited for is told");
	// its note is changed, and kept by the recorder
	await p.locator("#incident .note-form input").fill("-- it was the indexer");
	await p.keyboard.press("Enter");
	await p.locator("#incident-list tr", { hasText: "-- it was the indexer" }).waitFor();
	assert.match(execFileSync(whyslow, ["list", "--store", file("r.db"), "--run-dir", folder], { encoding: "utf8" }), /-- it was the indexer/);
	await p.locator("#incident .feedback button", { hasText: "right" }).click();
	await p.locator("#incident-list tr", { hasText: "right" }).waitFor();
	// another one next to it, and the ways into the panes
	await p.locator("#incident .row select").selectOption("1");
	await p.locator("#other h2", { hasText: "Mark 1" }).waitFor();
	await p.locator("#other a", { hasText: "difference" }).click();
	await inAddress(p, "base", "1");
	await p.locator('#flame tr[data-key="guilty"]').waitFor();
	await p.goBack();
	await p.locator("#incident .ways a", { hasText: "blame" }).click();
	await p.locator("#blame td.heat").first().waitFor();
	assert.equal(hash(p).get("mark"), "2");
	// what acts takes nothing but a process's number
	for (const body of ["", "{}", '{"pids": 1}', '{"pids": "-1"}'])
		assert.equal(await p.evaluate(async (text) => (await asked("/api/v1/confirm", { method: "POST", body: text, headers: { "Content-Type": "application/json" } })).status, body), 400);
	// the filter
	await go(p, address, "view=incidents&find=indexer");
	await p.waitForFunction(() => document.querySelectorAll("#incident-list tbody tr").length === 1);
}

async function spans(p, address) {
	await go(p, address, "view=spans");
	await p.locator("#version-list tbody tr").first().waitFor();
	// the worst bucket is chosen: agent 1.7.0 is slow on gen6
	assert.match(await p.locator('#bucket-list tr[aria-selected="true"]').innerText(), /^gen6/);
	assert.equal(await p.locator("#bucket-list tbody tr").count(), 12);
	assert.match(await text(p, "#version-list tr.guilty"), /agent=1\.7\.0.*slower/s);
	// the versions of a package over time, and what was deployed then: of the one that was chosen, of another one
	const times = p.locator("#version-times svg");
	await times.locator(".deployed").first().waitFor({ state: "attached" }); // a line has no width
	await p.selectOption('#spans select[data-key="package"]', "agent");
	await inAddress(p, "package", "agent");
	await p.waitForFunction(() => /^agent: .*1\.7\.0 from .*, at last .*; deployed: agent 1\.7\.0 at /.test(document.querySelector("#version-times svg")?.getAttribute("aria-label")));
	assert.equal(await times.locator(".version").count(), await p.evaluate(async () => { const bucket = document.querySelector('#bucket-list tr[aria-selected="true"]').dataset.key, { times: all } = await (await asked("/api/v1/spans/groups")).json(); return Math.min(12, all.filter((t) => t.package === "agent" && `${Object.entries(t.values).filter(([, v]) => v !== null).map(([k, v]) => `${k}=${v}`).join(",")}|${t.entry}` === bucket).length); }));
	// which version is to blame, over all buckets, by what, and on what hardware; its buckets
	await p.locator("#why-headline.slow", { hasText: /^Agent 1\.7\.0 is slower \(.*, only where hardware=gen6\): create disk of storage: fewer of its calls run at a time/ }).waitFor();
	const worse = await p.locator("#suspect-list tbody tr").allInnerTexts();
	assert.ok(worse.length && worse.every((line) => /^agent=1\.7\.0\t.*hardware=gen6/.test(line)), worse.join("\n"));
	// a rectangle over the map: the slow requests, what tells them from the others, the same by keyboard, and nothing again
	const cells = p.locator("#spans .heat-holder canvas");
	await p.waitForFunction(() => document.querySelector("#spans .heat-holder canvas").height > 100);
	const area = await placeOf(cells);
	await p.mouse.move(area.x + 70, area.y + 30);
	await p.mouse.down();
	await p.mouse.move(area.x + area.width - 4, area.y + 150, { steps: 4 });
	await p.mouse.up();
	await p.waitForFunction(() => new URLSearchParams(location.hash.slice(1)).has("longer"));
	await p.locator("#selected-list .summary", { hasText: "are selected: mean" }).waitFor();
	assert.ok((await p.locator("#selected-list tbody tr").count()) > 0);
	await cells.focus();
	await p.keyboard.press("Escape");
	await p.waitForFunction(() => !new URLSearchParams(location.hash.slice(1)).has("longer"));
	await p.keyboard.press("ArrowRight");
	await p.keyboard.press("Shift+ArrowUp");
	await p.keyboard.press("Shift+ArrowRight");
	assert.match(await text(p, "#spans .heat-holder + .hint"), /requests of .* to .* at /);
	await p.keyboard.press("Enter");
	await p.waitForFunction(() => new URLSearchParams(location.hash.slice(1)).has("shorter"));
	await p.locator("#selected-list .summary", { hasText: "are selected" }).waitFor();
	await p.keyboard.press("Escape");
	await p.waitForFunction(() => !new URLSearchParams(location.hash.slice(1)).has("shorter"));
	// the answer as a file: whole, without a script
	const [saved] = await Promise.all([p.waitForEvent("download"), p.locator("#spans button", { hasText: "Save the answer as HTML" }).click()]);
	const page = readFileSync(await saved.path(), "utf8");
	assert.match(page, /^<!DOCTYPE html>.*<\/html>\s*$/s);
	assert.doesNotMatch(page, /<script|https?:/);
	await fitsAPhone(page, "saved requests");
	// the call forest leaves out what no one waited for
	const calls = await p.locator("#forest tbody tr").count();
	await p.locator("#spans label", { hasText: "only the critical path" }).click();
	await p.waitForFunction((n) => document.querySelectorAll("#forest tbody tr").length < n, calls);
	assert.ok((await p.locator("#forest tr.critical").count()) >= 3);
	// side by side: its disks are made one after another now
	await p.locator("#spans select", { hasText: "choose" }).first().selectOption("agent=1.6.0");
	await inAddress(p, "baseline", "agent=1.6.0");
	await p.locator("#spans select", { hasText: "choose" }).last().selectOption("agent=1.7.0");
	await p.locator("#comparison tbody tr").first().waitFor();
	assert.match(await text(p, "#comparison tbody tr"), /storage (create|attach) disk.*sequential/s);
	// two requests at one scale, each span described in words
	await p.locator('.waterfall[data-name="two"] .span').first().waitFor();
	assert.ok((await p.locator('.waterfall[data-name="one"] .span.critical').count()) > 3);
	assert.match(await p.locator('.waterfall[data-name="one"] .span title').first().textContent(), /^api POST \/vm: .* on the critical path/);
	assert.match(await text(p, "#difference-list tbody tr"), /storage (create|attach) disk/);
	// down to the hosts where it waited, which no list of recorders names here; and on a host's page the way back up
	await p.locator("#descend").click();
	await p.waitForFunction(() => new URLSearchParams(location.hash.slice(1)).has("down"));
	assert.match(await text(p, "#descent-list li"), /on \S+.*The machine: no list of hosts is given/s);
	const request = p.url();
	await go(p, address, `view=machine&request=${encodeURIComponent(request)}`);
	assert.equal(await p.locator("#verdict a", { hasText: "Back to the request" }).getAttribute("href"), request);
	await p.locator("#verdict a", { hasText: "Back to the request" }).click();
	await p.locator("#descent-list li").first().waitFor();
	// a bucket by keyboard
	await p.locator('#bucket-list tr[aria-selected="true"]').focus();
	await p.keyboard.press("ArrowDown");
	await p.waitForFunction(() => new URLSearchParams(location.hash.slice(1)).has("bucket"));
	// Z-scores of the paper
	await p.selectOption("#spans .toolbar select", "sdiag-older");
	await inAddress(p, "method", "sdiag-older");
	// a request that is stored whole opens, whatever its bucket: so do those that show a cause
	const other = await p.evaluate(async () => (await (await asked("/api/v1/spans/exemplars?top=4")).json()).requests.find((r) => !Object.values(r.values).includes("gen6")).trace);
	await go(p, address, `view=spans&one=${other}`);
	await p.waitForFunction((id) => document.querySelector('#spans select[data-key="one"]')?.value === id, other);
	// and next to it any other, by its id
	const third = await p.evaluate(async (other) => (await (await asked("/api/v1/spans/exemplars?top=4")).json()).requests.find((r) => r.trace !== other && Object.values(r.values).includes("gen6")).trace, other);
	await p.fill('#spans input[data-key="two-id"]', third);
	await p.keyboard.press("Enter");
	await inAddress(p, "two", third);
	await p.waitForFunction((id) => document.querySelector('#spans select[data-key="two"]')?.value === id, third);
	await p.locator("#difference-list tbody tr").first().waitFor();
}

async function fleet(p, address) {
	await go(p, address, "view=fleet");
	await p.locator("#fleet .stock").first().waitFor();
	assert.equal(await p.locator("#fleet .stock").count(), 8);
	assert.match(await text(p, "#fleet .summary"), /web-03/);
	assert.match(await text(p, "#fleet .scroll tbody tr"), /web-03/);
	// the unusual time is found without a question, and leads there
	assert.match(await text(p, "#unusual-times li"), /web-03/);
	assert.match(await p.locator("#unusual-times a").first().getAttribute("href"), /server=web-03/);
	// the first row of what is unusual: its counter, its server
	await p.locator('#fleet tr[data-key="web-03|queue"]').click();
	await inAddress(p, "server", "web-03");
	await inAddress(p, "counter", "queue");
	// brushing the heat map, everybody follows: the box of web-03 by server moves
	await p.waitForFunction(() => document.querySelector("#fleet .heat-holder canvas").getAttribute("aria-label")?.startsWith("queue"));
	const label = () => p.locator('#fleet .stock[aria-label^="web-03"]').getAttribute("aria-label");
	assert.match(await label(), /, all .* to .*, mean /);
	const before = await label(), box = await placeOf(p.locator("#fleet .heat-holder canvas"));
	const x = (row) => box.x + 130 + row / ROWS * (box.width - 130);
	await p.mouse.move(x(BEGIN - 20), box.y + 60);
	await p.mouse.down();
	await p.mouse.move(x(END + 20), box.y + 60, { steps: 5 });
	await p.mouse.up();
	await p.waitForFunction((old) => document.querySelector('#fleet .stock[aria-label^="web-03"]').getAttribute("aria-label") !== old, before);
	const from = Number(hash(p).get("ffrom"));
	assert.ok(Math.abs(from - (FLEET_START + 60 * (BEGIN - 20))) < 600, `brushed from ${from}`);
	// a rule, counted as it is typed
	await p.fill("#rule", "when any queue in detail view > 10");
	await p.waitForFunction(() => /expected/.test(document.querySelector("#fleet section:last-child .pane-status").textContent));
	await p.fill("#rule", "when any queue in detail view > 10 report");
	await p.locator("#fleet .pane-status", { hasText: `${END - BEGIN} violations in ` }).waitFor();
	await p.locator("#fleet .broken-key").waitFor();
	// by keyboard: a cell is reported, 0 shows the whole time
	await p.locator("#fleet .heat-holder canvas").focus();
	await p.keyboard.press("ArrowDown");
	await p.keyboard.press("ArrowRight");
	await p.waitForFunction(() => /^web-0\d, .*: \d/.test(document.getElementById("heat-said").textContent));
	await p.keyboard.press("0");
	await inAddress(p, "ffrom", "");
	// one click on what breaks it: what moved with it, by its name
	await go(p, address, `view=fleet&counter=cpu&rule=${encodeURIComponent("when any queue in detail view > 10 report")}`);
	await p.locator("#fleet section:last-child tbody tr").first().click();
	await p.locator("#moved-title", { hasText: "What moved with queue of web-03" }).waitFor();
	await p.locator("#moved tbody tr, #moved .hint").first().waitFor();
	// the surface's library comes only now
	const loaded = () => p.evaluate(() => performance.getEntriesByType("resource").filter((r) => /three/.test(r.name)).length);
	assert.equal(await loaded(), 0);
	// the time view by moments in place of quantiles
	const times = () => p.locator("#fleet section[aria-labelledby=time-title] canvas").getAttribute("aria-label");
	assert.match(await times(), /median and quantiles/);
	await p.locator("#fleet label", { hasText: "mean and deviation" }).locator("input").check();
	await inAddress(p, "moments", "1");
	await p.waitForFunction(() => /minimum, maximum, mean and deviation/.test(document.querySelector("#fleet section[aria-labelledby=time-title] canvas").getAttribute("aria-label")));
	assert.match(await text(p, "#fleet section[aria-labelledby=time-title] .u-legend"), /minimum[\s\S]*mean [-+] deviation/);
	await p.locator("#fleet label", { hasText: "mean and deviation" }).locator("input").uncheck();
	await p.locator("#fleet button", { hasText: "3-D surface" }).click();
	await p.locator(".surface canvas").waitFor();
	await p.waitForFunction(() => document.querySelector(".surface canvas").getAttribute("aria-label")?.startsWith("queue as a surface"));
	assert.equal(await loaded(), 2);
	// its sides have names: servers, times, values; each where it is drawn
	const marks = await p.locator(".surface-marks span").allTextContents();
	for (const one of ["web-00", "web-03", "web-07"]) assert.ok(marks.includes(one), `${one} is not named at the surface: ${marks}`);
	assert.ok(marks.filter((t) => /^\d\d:\d\d:\d\d$/.test(t)).length >= 3, `no times at the surface: ${marks}`);
	const places = await p.locator(".surface-marks span").evaluateAll((all) => all.map((e) => e.getBoundingClientRect()).map((r) => `${Math.round(r.x)} ${Math.round(r.y)}`));
	assert.equal(new Set(places).size, marks.length, "two names stand at one place");
	await p.locator(".surface canvas").focus();
	const drawn = () => p.locator(".surface canvas").screenshot();
	const first = await drawn();
	await p.keyboard.press("ArrowLeft");
	assert.notDeepEqual(await drawn(), first, "the surface turns");
	// what moved with the requests of all; one of them is drawn against them
	await go(p, address, "view=fleet&counter=requests");
	await p.locator("#moved tbody tr").first().waitFor();
	const moved = await p.locator("#moved tbody tr").first().getAttribute("data-key");
	await p.locator("#moved tbody tr").first().click();
	await inAddress(p, "against", moved.slice(moved.indexOf("|") + 1));
	await p.locator("#fleet label", { hasText: "by ranks" }).locator("input").check();
	await inAddress(p, "ranks", "1");
	await p.locator("#moved tbody tr").first().waitFor();
}

// db-1's disk, two minutes later what calls it, and two minutes later what calls that; and one high minute of another disk long before. Names
// that a page must not take for its own.
const DISK = 'disk <b>*[x]" \\util', API = "api <img src=x onerror=alert(1)>-1", SLOW = 40, SLOW_FROM = 300;

function recordChain() {
	mkdirSync(file("chain"));
	const servers = { "db-1": [0, 5], [API]: [2, 20], "web-1": [4, 41], "web-2": [4, 41], "cache-1": [1000, 1] };
	for (const [name, [late, latency]] of Object.entries(servers)) {
		const lines = [`time,"${DISK.replaceAll('"', '""')}",latency_ms`];
		for (let t = 0; t < 400; t++) {
			const ill = t >= SLOW_FROM + late && t < SLOW_FROM + late + SLOW, noise = ((t * 37 + late * 11) % 20) / 20;
			lines.push(`${FLEET_START + 60 * t},${((18 + 2 * noise) * ((ill && !late) || (t === 100 && name === "cache-1") ? 4 : 1)).toFixed(2)},${(latency * (1 + 0.1 * noise) * (ill && late ? 5 : 1)).toFixed(3)}`);
		}
		writeFileSync(file(`chain/${name}.csv`), `${lines.join("\n")}\n`);
	}
	writeFileSync(file("calls.csv"), `web-1,${API}\nweb-2,${API}\n${API},db-1\n`);
	execFileSync(whyslow, ["fleet", "load", file("chain"), "--output", file("chain.fleet")]);
}

// The chain, its curves and rules, all by clicking.
async function chain(p, address) {
	await go(p, address, "view=fleet");
	const link = (i) => p.locator("#chain li").nth(i);
	await link(1).waitFor();
	assert.ok((await link(0).innerText()).startsWith(`${DISK} of db-1`), await link(0).innerText());
	assert.match(await link(0).innerText(), /, normally 1[89][.\d]* \(the (symptom|likely cause)\)/);
	assert.ok((await link(1).innerText()).startsWith(`latency_ms of ${API}`), await link(1).innerText());
	assert.match(await link(1).innerText(), /2 min later\).*; calls db-1/);
	assert.equal(await p.locator("#chain button.named", { hasText: "cache-1" }).count(), 0);
	// a curve for each link: the one named in color, the others in gray, the incident shaded
	await p.locator("#chain-curves figure").nth(1).waitFor();
	assert.equal(await p.locator("#chain-curves figure").count(), await p.locator("#chain li").count());
	const first = p.locator("#chain-curves figure").first();
	assert.ok((await first.locator("path.one").getAttribute("d")).length > 400);
	assert.equal(await first.locator("path.other").count(), 4);
	const shaded = await first.locator(".incident").evaluate((e) => ({ x: Number(e.getAttribute("x")), width: Number(e.getAttribute("width")) })), whole = await first.locator("svg").evaluate((e) => e.getBoundingClientRect().width);
	assert.ok(shaded.x > whole / 3 && shaded.width > whole / 6 && shaded.width < whole / 2, `shaded: ${shaded.x} + ${shaded.width} of ${whole}`);
	// a link leads to its counter and server, also by keyboard; a line to its server
	await link(1).locator("button.named").click();
	await inAddress(p, "server", API);
	await inAddress(p, "counter", "latency_ms");
	await p.locator('#chain button.named[aria-pressed="true"]', { hasText: API }).waitFor();
	await first.locator("button.named").focus();
	await p.keyboard.press("Enter");
	await inAddress(p, "counter", DISK);
	await inAddress(p, "server", "db-1");
	assert.equal(await p.evaluate(() => document.activeElement.dataset.key.startsWith("curve ")), true, "the focus stays");
	await first.locator("path.other", { has: p.locator("title", { hasText: "cache-1" }) }).dispatchEvent("click");
	await inAddress(p, "server", "cache-1");
	// a rule of what is clicked, tried at once: above the p95 of what was normal
	await link(0).locator("button", { hasText: "Rule" }).click();
	await p.locator("#fleet .pane-status", { hasText: " violations in " }).waitFor();
	assert.match(hash(p).get("rule"), /^when any "disk <b>\\\\\*\\\\\[x\\\\\]\\" \\\\\\\\util" in detail view > (19|20)[.\d]* report$/);
	await p.locator("#fleet section:last-child .hint", { hasText: /: p95 (19|20).* outside of the incident/ }).waitFor();
	// farther: the incident and the high minute; then what lasts: the incident alone
	await p.selectOption("#fleet select >> nth=3", "1");
	await p.locator("#fleet .pane-status", { hasText: `${SLOW + 1} violations in ` }).waitFor();
	await p.selectOption("#fleet select >> nth=4", "5");
	await p.locator("#fleet .pane-status", { hasText: `${SLOW} violations in ` }).waitFor();
	assert.match(hash(p).get("rule"), / for 300 s report$/);
	await p.locator("#fleet section:last-child tbody tr", { hasText: "db-1" }).first().waitFor();
	// below: of another counter, which a click chooses
	await p.selectOption("#fleet select >> nth=2", "below");
	await p.waitForFunction(() => / < /.test(new URLSearchParams(location.hash.slice(1)).get("rule")));
	await link(1).locator("button.named").click();
	await p.locator("#fleet button", { hasText: "Make a rule of latency_ms" }).click();
	await p.waitForFunction(() => /^when any "latency_ms" .* < /.test(new URLSearchParams(location.hash.slice(1)).get("rule")));
	// reloaded, it is the same; what is typed is no longer of the choices
	const rule = hash(p).get("rule");
	await p.reload();
	await p.locator("#fleet .pane-status", { hasText: / violations? in |none of / }).waitFor();
	assert.equal(hash(p).get("rule"), rule);
	assert.equal(await p.locator("#rule").inputValue(), rule);
	await p.fill("#rule", "when any latency_ms in detail view > 1000000 report");
	await inAddress(p, "rulefor", "");
	await p.locator("#fleet .pane-status", { hasText: "none of " }).waitFor();
	// asked about a counter that is a symptom, and about one that is none
	await go(p, address, "view=fleet&counter=latency_ms&server=web-1");
	await p.locator("#fleet button", { hasText: "Ask why latency_ms of web-1" }).press("Enter"); // what the page still loads may move it under the mouse
	await inAddress(p, "symptom", "latency_ms@web-1");
	await p.locator("#chain li", { hasText: "web-1" }).filter({ hasText: "(the symptom, 4 min later)" }).waitFor();
	assert.ok((await link(0).innerText()).startsWith(`${DISK} of db-1`), await link(0).innerText());
	assert.equal(await p.locator("#chain li", { hasText: "(the likely cause" }).count(), 1);
	await go(p, address, `view=fleet&counter=latency_ms&server=cache-1`);
	await p.locator("#fleet button", { hasText: "Ask why latency_ms of cache-1" }).click();
	await inAddress(p, "symptom", "latency_ms@cache-1");
	await p.locator("#fleet .summary", { hasText: "latency_ms of cache-1 is not unusual" }).waitFor();
	await p.locator("#fleet button", { hasText: "Ask about the most unusual counter again" }).click();
	await link(1).waitFor();
	// the answer as a file
	const [saved] = await Promise.all([p.waitForEvent("download"), p.locator("#fleet button", { hasText: "Save the answer as HTML" }).click()]);
	const page = readFileSync(await saved.path(), "utf8");
	assert.match(page, /^<!DOCTYPE html>.*api &lt;img src=x.*<\/html>\s*$/s);
	assert.doesNotMatch(page, /<script|<img/);
	await fitsAPhone(page, "saved fleet");
	// names stay text
	assert.equal(await p.locator("#fleet b, #fleet img").count(), 0);
	await atEverySize(p, "chain");
}

async function firstLoad(address) {
	const p = await newPage(browser);
	const cdp = await p.context().newCDPSession(p);
	let bytes = 0;
	await cdp.send("Network.enable");
	cdp.on("Network.loadingFinished", (e) => { bytes += e.encodedDataLength; });
	await p.goto(address);
	// the recording has ended: the page says so, or has drawn what is asked for last
	await p.waitForFunction(() => document.querySelector("#lives p") || /no recorder is running: the recording ends at /.test(document.getElementById("verdict").textContent), null, { timeout: 60000 });
	assert.ok(bytes > 20000 && bytes < 300000, `the first load is ${bytes} bytes`);
	console.log(`first load: ${bytes} bytes`);
	await p.context().close();
}

const PAGES = { blame: "view=blame&mark=1", flame: "view=flame&mark=2&base=1", kept: "view=flame&kind=kept&at=today&against=yesterday", incidents: "view=incidents&mark=1&with=2", spans: "view=spans&baseline=agent%3D1.6.0&candidate=agent%3D1.7.0",
	fleet: "view=fleet&counter=queue&server=web-03&surface=1&rule=when+any+queue+in+detail+view+%3E+10+report" };
const READY = { blame: "#blame .node", flame: "#flame tbody tr", kept: "#flame tbody tr", incidents: "#other h2", spans: "#comparison tbody tr", fleet: ".surface canvas[aria-label]" };

try {
	const { options } = recordAll(folder, { whyslow, makeRecording, makeIncident, makeSpans });
	server = await serve(whyslow, folder, options);
	browser = await launch();
	await firstLoad(server.address);
	let began = Date.now();
	const took = (what) => { console.log(`${what}: ${((Date.now() - began) / 1000).toFixed(1)} s`); began = Date.now(); };
	for (const pane of [blame, flame, keptFlame, incidents, inspected, lateEvents, spans, fleet]) {
		const p = await newPage(browser);
		p.setDefaultTimeout(60000);
		await p.goto(server.address);
		await pane(p, server.address);
		await noSeriousFindings(p, pane.name);
		await p.context().close();
		took(pane.name);
	}
	recordChain();
	other = await serve(whyslow, folder, [...options.slice(0, 2), "--fleet", file("chain.fleet"), "--calls", file("calls.csv")]);
	const p = await newPage(browser);
	p.setDefaultTimeout(60000);
	await p.goto(other.address);
	await chain(p, other.address);
	await p.context().close();
	took("chain");
	for (const [name, at] of Object.entries(PAGES)) {
		const p = await newPage(browser);
		await p.goto(`${server.address}#${at}`);
		await p.locator(READY[name]).first().waitFor({ timeout: 60000 });
		await atEverySize(p, name);
		await p.context().close();
		took(`${name} at every size`);
	}
	// no captures were kept, a rule half typed is none, and the page says so: no errors of the page
	assert.deepEqual(problems.filter((t) => !/status of (404|400)/.test(t)), []);
	console.log("the panes work");
} catch (e) {
	for (const p of (browser?.contexts() ?? []).flatMap((context) => context.pages()))
		console.error(p.url(), await p.evaluate(() => [...document.querySelectorAll("main:not([hidden]) [role=status], main:not([hidden]) .summary, #chain")].map((part) => part.innerText)));
	console.error(problems);
	throw e;
} finally {
	await browser?.close();
	server?.process.kill("SIGTERM");
	other?.process.kill("SIGTERM");
	rmSync(folder, { recursive: true, force: true });
}
