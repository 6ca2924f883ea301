// The web view in a real browser: view.mjs WHYSLOW MAKE-RECORDING
// A recorded incident is clicked through as the paper's case study: press, answer, process, feature, time series.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atEverySize, launch, newPage, noSeriousFindings, problems, serve, shots } from "./harness.mjs";

const [whyslow, makeRecording] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "whyslow-web-"));
const store = join(folder, "r.db");
let server, browser;

function record() {
	const made = execFileSync(makeRecording, [store, "--hours", "0.4", "--processes", "40", "--active", "10", "--seed", "5"], { encoding: "utf8" });
	return Number(/^end (\d+)$/m.exec(made)[1].slice(0, -9)) - 5;
}

const rows = (p, list) => p.locator(`#${list} tbody tr`);
const shot = (p, name) => (shots ? p.screenshot({ path: join(shots, `${name}.png`), fullPage: true }) : null);

async function caseStudy(p, address, at) {
	await p.goto(`${address}#at=@${at}`);
	await rows(p, "process-list").first().waitFor();
	assert.equal(await rows(p, "process-list").count(), 40);
	// processes by anomaly: bars do not grow downwards
	const bars = await p.locator("#process-list .full").evaluateAll((all) => all.map((r) => Number(r.getAttribute("width"))));
	assert.ok(bars.every((b, i) => i === 0 || b <= bars[i - 1] + 1e-9));
	// the second process's features, ranked
	const pid = await rows(p, "process-list").nth(1).getAttribute("data-key");
	await rows(p, "process-list").nth(1).click();
	await p.locator("#features-title", { hasText: `(${pid})` }).waitFor();
	assert.ok((await rows(p, "feature-list").count()) > 30);
	assert.match(p.url(), new RegExp(`pid=${pid}`));
	// why it was slow, also in a copy of the address
	await p.locator("#why-program").click();
	await p.locator("#program-answer .summary").waitFor();
	assert.match(p.url(), new RegExp(`why=${pid}`));
	assert.equal(await p.locator("#program-answer .summary").textContent(), await p.evaluate(([t, who]) => asked(`/api/v1/program?for=${who}&at=@${t}`).then((r) => r.json()).then((a) => a.summary), [at, pid]));
	// its series, with another feature laid over it
	const name = await rows(p, "feature-list").nth(2).getAttribute("data-key");
	await rows(p, "feature-list").nth(2).click();
	await p.locator("#curves", { hasText: name }).waitFor();
	await p.locator("#chart canvas").waitFor();
	await rows(p, "feature-list").nth(3).locator("button").click();
	await p.locator("#curves .curve").nth(1).waitFor();
	// and the same feature of another process
	const other = await rows(p, "process-list").nth(4).getAttribute("data-key");
	await rows(p, "process-list").nth(4).locator("button").click();
	await p.locator("#curves .curve", { hasText: `(${other}): ${name}` }).waitFor();
	// who lived when, on the same axis: as the verb tells it
	const lives = await p.evaluate((u) => asked(u).then((r) => r.json()), `/api/v1/lives?at=@${at}&window=4h&points=60`);
	assert.ok(lives.lives.length > 0, "the recording has processes that begin and end");
	await p.waitForFunction((n) => document.querySelectorAll("#lives .life").length === n, lives.lives.length);
	// zoom by dragging, and back
	const box = await p.locator("#chart .u-over").boundingBox();
	await p.mouse.move(box.x + box.width * 0.3, box.y + 50);
	await p.mouse.down();
	await p.mouse.move(box.x + box.width * 0.6, box.y + 50, { steps: 5 });
	await p.mouse.up();
	await p.waitForURL(/from=/);
	await p.keyboard.press("0");
	await p.waitForURL((u) => !u.hash.includes("from="));
	// every state is in the address: a copy of it shows the same
	const copy = await p.context().newPage();
	await copy.goto(p.url());
	await copy.locator("#curves .curve").nth(1).waitFor();
	assert.equal(await copy.locator('#process-list tr[aria-selected="true"]').getAttribute("data-key"), pid);
	await copy.close();
}

async function byKeyboard(p) {
	const before = await p.locator("#at").inputValue();
	await p.locator("#chart").click({ position: { x: 2, y: 2 } });
	await p.keyboard.press("ArrowLeft");
	await p.waitForFunction((old) => document.getElementById("at").value !== old, before);
	await p.locator('#process-list tr[tabindex="0"]').focus();
	const from = await p.evaluate(() => document.activeElement.dataset.key);
	await p.keyboard.press("ArrowDown");
	await p.waitForFunction((old) => document.activeElement.dataset.key !== old && document.activeElement.getAttribute("aria-selected") === "true", from);
	await p.keyboard.press("/");
	await p.keyboard.type("kworker");
	await p.waitForFunction(() => [...document.querySelectorAll("#process-list td.name")].every((td) => td.textContent.includes("kworker")));
	await p.keyboard.press("Control+a");
	await p.keyboard.press("Delete");
}

// The paper's ranking: the bars are of log-likelihoods, the least likely first, and so are the features' within a process.
async function byThePapersModel(p) {
	const figures = (holder) => p.locator(`${holder} .bar-figure`).allInnerTexts().then((all) => all.map(Number));
	await p.selectOption("#model", "gaussian");
	await p.locator("#process-list th", { hasText: "log-likelihood" }).waitFor();
	await p.locator("#process-list .bar-figure").first().waitFor();
	await p.locator("#feature-list .bar-figure").first().waitFor();
	for (const holder of ["#process-list", "#feature-list"]) {
		const all = await figures(holder);
		assert.ok(all.length > 1 && all.every((x, i) => i === 0 || x >= all[i - 1]), `${holder}: the least likely first: ${all}`);
	}
	await p.selectOption("#model", "");
	await p.locator("#process-list th", { hasText: "anomaly" }).waitFor();
	await p.waitForFunction(() => !document.querySelector("#feature-list .bar-figure"));
}

// The answer shows by itself on a page that is open.
async function pressed(p) {
	await p.fill("#note", "video froze");
	await p.click("#mark button");
	await p.locator("#incident-list", { hasText: "video froze" }).waitFor();
	assert.match(p.url(), /mark=1/);
}

// The curve: Ctrl + wheel comes closer, a click asks about a moment while the same interval stays in sight, a double click shows all of it.
async function onTheCurve(p, address, at) {
	const pid = await p.evaluate((t) => asked(`/api/v1/board?at=@${t}&window=4h`).then((r) => r.json()).then((b) => b.processes.find((x) => x.since === null && x.kind === "process").pid), at); // there all the time
	await p.goto(`${address}#at=@${at}&pid=${pid}`);
	await p.locator("#lives p").first().waitFor();
	assert.match(await p.locator("#chart .u-legend").textContent(), new RegExp(`Time.*${await p.evaluate((t) => new Date(t * 1000).toTimeString().slice(0, 5), at)}`), "figures of the moment stand there before anybody points");
	// the moment's time stands above the curve, not over its peak
	const above = await p.evaluate(() => {
		const canvas = document.querySelector("#chart canvas"), part = canvas.getContext("2d").getImageData(0, 0, canvas.width, document.querySelector("#chart .u-over").offsetTop * devicePixelRatio - 3);
		return part.data.some((v, i) => i % 4 === 3 && v > 0);
	});
	assert.ok(above, "nothing is written above the curve");
	const over = async () => {
		for (;;) {
			const box = await p.locator("#chart .u-over").boundingBox(); // none while it is drawn again
			if (box) return [box.x + box.width * 0.5, box.y + 60];
		}
	};
	const part = (key) => new URLSearchParams(new URL(p.url()).hash.slice(1)).get(key);
	const place = await over();
	await p.mouse.move(...place);
	await p.keyboard.down("Control");
	await p.mouse.wheel(0, -300);
	await p.keyboard.up("Control");
	await p.waitForURL(/from=/);
	const [from, to] = [part("from"), part("to")];
	await p.mouse.click(...await over());
	await p.waitForURL((u) => !u.hash.includes(`at=%40${at}`) && !u.hash.includes(`at=@${at}`));
	assert.ok(Math.abs(Date.parse(part("at")) / 1000 - (Number(from) + Number(to)) / 2) < 2 + (to - from) / 100, `asked about ${part("at")}, of ${from} to ${to}`);
	assert.ok(Math.abs(part("from") - from) < 0.01 && Math.abs(part("to") - to) < 0.01, "the stretch that is seen stays");
	const asked = part("at");
	await p.mouse.dblclick(...await over());
	await p.waitForURL((u) => !u.hash.includes("from="));
	assert.equal(part("at"), asked, "a double click asks about no moment");
}

// The server ends and comes back: the page says so in words, and continues by itself.
async function serverGoes(p, address, at) {
	await p.goto(`${address}#at=@${at}`);
	await p.locator("#lives p").first().waitFor();
	const { process, listen } = { process: server.process, listen: new URL(address).host };
	process.kill("SIGTERM");
	await new Promise((then) => process.once("exit", then));
	await p.locator("#status.error", { hasText: "whyslow serve does not answer" }).waitFor();
	await p.click("#earlier"); // what is asked in the meantime is answered later
	server = await serve(whyslow, folder, ["--store", store], listen);
	await p.waitForFunction((old) => document.getElementById("status").textContent === "" && new Date(document.getElementById("at").value).getTime() / 1000 < old - 5, at, { timeout: 60000 });
}

// A question that fails though the server is there, as one that was under way when it came back, is asked again.
async function questionFails(p, address, at) {
	let failed = 0;
	await p.goto(`${address}#at=@${at}`);
	await p.locator("#lives p").first().waitFor();
	await p.route(/\/api\/v1\/board\?/, (route) => (failed++ ? route.continue() : route.abort("connectionreset")));
	await p.goto(`${address}#at=@${at - 20}`);
	await p.locator("#verdict .error-text", { hasText: "whyslow serve does not answer" }).waitFor();
	await p.locator("#lives p").first().waitFor();
	await p.waitForFunction((old) => Math.abs(new Date(document.getElementById("at").value).getTime() / 1000 - (old - 20)) < 2, at);
	await p.unroute(/\/api\/v1\/board\?/);
	assert.ok(failed > 1);
}

// Where nothing is recorded yet the page says that, and continues asking; it does not take the server for gone.
async function nothingRecorded() {
	const empty = await serve(whyslow, folder, ["--store", join(folder, "none.db")]);
	const p = await newPage(browser);
	await p.goto(empty.address);
	await p.locator("#verdict", { hasText: "nothing is recorded" }).waitFor();
	await p.evaluate(async () => {
		const stop = new AbortController(), reader = (await asked("/api/v1/events", { signal: stop.signal })).body.pipeThrough(new TextDecoderStream()).getReader();
		let seen = "";
		while ([...seen.matchAll(/event: ended/g)].length < 2) seen += (await reader.read()).value;
		stop.abort();
	});
	assert.doesNotMatch(await p.locator("#status").textContent(), /does not answer/);
	assert.equal(await p.locator("#processes").isVisible(), false, "no pane without anything in it");
	await p.context().close();
	empty.process.kill("SIGTERM");
}

// Without a recorder the page opens at the last recorded moment; without a fleet or requests it says what they are for, and gives the command.
async function emptyStates(address, at) {
	const p = await newPage(browser);
	await p.goto(address);
	await rows(p, "process-list").first().waitFor();
	await p.locator("#status", { hasText: "no recorder is running: the recording ends at" }).waitFor();
	assert.ok(Math.abs(new Date(await p.locator("#status").textContent().then((said) => /this shows (.*?);/.exec(said)[1])).getTime() / 1000 - at) < 60);
	await atEverySize(p, "last-moment");
	// an address with the name of a tab, or with one that no view has
	for (const [named, view] of [["requests", "spans"], ["nosuch", "machine"], ["constructor", "machine"]]) {
		await p.goto(`${address}#view=${named}`);
		await p.locator(`main#${view}:not([hidden])`).waitFor();
	}
	for (const [view, command] of [["fleet", "whyslow serve --fleet "], ["spans", "whyslow spans load "]]) {
		await p.goto(`${address}#view=${view}`);
		const empty = p.locator(`#${view} .empty`);
		await empty.waitFor();
		// what was shown before may be shown until the view has its answer, and takes with it what is typed
		let quoted = false;
		for (let tries = 0; tries < 5 && !quoted; tries++) {
			await empty.locator("input").fill("it's here.json");
			quoted = await empty.getByText(`${command}'it'\\''s here.json'`, { exact: true }).waitFor({ timeout: 2000 }).then(() => true, () => false);
		}
		assert.ok(quoted, await empty.innerText());
		await atEverySize(p, `empty-${view}`);
	}
	await p.context().close();
}

// A trial as `whyslow confirm --json` prints it: one victim, who waits 57 % of the time, and 5 % while the other is held back.
function trialOf(order) {
	const samples = [], share = (held, i) => (held ? 0.05 : 0.57) + 0.02 * (i % 2);
	const put = (when, held, seconds) => {
		for (let i = 0; i < 4 * seconds; i++) samples.push({ at: samples.length / 4 + 0.125, when, held, settling: when === "during" && i < 2, waits: share(held, i), late_ns: held ? 1e5 : 4e6, use: held ? 0.01 : 0.43 });
	};
	put("before", false, 2);
	for (const held of order) put("during", held, 2.5);
	put("after", false, 1);
	return { schema: "whyslow.confirm/1", at: "2026-11-20T11:14:47.000Z", verdict: "yes", reason: null, pid: 4215, pids: [4215], joined: 0, name: "guilty", unit: null, short: "cpu", way: "limit",
		how: "it may use 1 % of one CPU (cpu.max in a control group below its own)", bound: true, effect: 0.52, low: 0.5, high: 0.54, coverage: 66 / 70, p: 1 / 70,
		waits_free: 0.58, waits_held: 0.06, use_free: 0.43, use_held: 0.01, late_free_ns: 4e6, late_held_ns: 1e5,
		victims: [{ pid: 4210, name: "victim", before: 0.57, free: 0.58, held: 0.06 }], phases: order.map((held) => ({ held, waits: held ? 0.06 : 0.58, late_ns: 4e6, use: held ? 0.01 : 0.43 })), samples };
}

// The proof's chart: eight phases, four of them held back, and in words what it shows.
async function showTrial(p) {
	const trial = trialOf([false, true, true, false, true, false, false, true]);
	await p.evaluate(async (t) => {
		const confirm = await import("/confirm.js");
		const holder = document.querySelector("#incident") ?? document.querySelector("main:not([hidden]) section");
		holder.replaceChildren(confirm.drawTrial(t));
	}, trial);
	const figure = p.locator(".trial-figure");
	await figure.waitFor();
	assert.match(await figure.locator(".summary").textContent(), /^Yes: guilty \(pid \d+\) makes others wait; victim \(pid \d+\) waited [0-9.]+ % while it was held back, [0-9.]+ % while it was let go\.$/);
	assert.match(await figure.locator("svg").getAttribute("aria-label"), /Phase 8, (held back|let go): [0-9.]+ %/);
	const held = await figure.locator("rect.held").count(), stretches = trial.phases.filter((x, i) => x.held && !trial.phases[i - 1]?.held).length;
	assert.equal(held, stretches);
}

// The one that has ended cannot be held back, and the server says so.
async function refusesToHoldTheDead(p) {
	const answer = await p.evaluate(async () => {
		const { tell } = await import("/api.js");
		return tell("confirm", { pids: "4194303" }).then(() => "held", (e) => e.message);
	});
	assert.match(answer, /mark|ended|root/);
	assert.match(await p.evaluate(async () => (await import("/api.js")).tell("confirm", { pids: "x" }).then(() => "held", (e) => e.message)), /invalid pids/);
}

// What the interface's description lists is there, and takes what it says it takes.
async function isAsDescribed(p) {
	const { paths } = await p.evaluate(() => asked("/api/v1/openapi.json").then((r) => r.json()));
	const keys = (path) => Object.keys(paths[path].post.requestBody.content["application/json"].schema.properties);
	assert.deepEqual([keys("/api/v1/marks"), keys("/api/v1/notes"), keys("/api/v1/feedback"), keys("/api/v1/confirm")], [["note"], ["id", "note"], ["id", "feedback"], ["short", "pids"]]);
	for (const [path, { get }] of Object.entries(paths)) {
		if (!get || path === "/api/v1/events" || get.parameters.some((x) => x.required)) continue;
		const [status, said] = await p.evaluate((u) => asked(u).then(async (r) => [r.status, await r.text()]), path);
		// nothing may be recorded of it here: but it is asked for as the program takes it
		assert.ok(status === 200 || ([400, 404].includes(status) && !/there is no \/|option/i.test(said)), `${path}: ${status} ${said}`);
	}
}

async function refusesStrangers(address) {
	const origin = new URL(address).origin;
	assert.equal((await fetch(`${origin}/api/v1/board`)).status, 401);
	const page = await fetch(address, { redirect: "manual" });
	assert.equal(page.headers.get("set-cookie"), null);
	assert.match(page.headers.get("content-security-policy"), /default-src 'self'/);
}

try {
	const at = record();
	server = await serve(whyslow, folder, ["--store", store]);
	const { address } = server;
	await refusesStrangers(address);
	browser = await launch();
	const p = await newPage(browser, {});
	await caseStudy(p, address, at);
	await noSeriousFindings(p, "machine");
	await isAsDescribed(p);
	await byThePapersModel(p);
	await byKeyboard(p);
	await onTheCurve(p, address, at);
	const q = await newPage(browser);
	await q.goto(`${address}#at=@${at}`);
	await q.locator("#lives .life").first().waitFor({ timeout: 60000 });
	await atEverySize(q, "machine");
	await showTrial(q);
	await q.waitForFunction(() => getComputedStyle(document.querySelector(".trial .waits")).fill === "none"); // its style sheet has come
	await atEverySize(q, "proof");
	await q.context().close();
	await pressed(p);
	await noSeriousFindings(p, "incidents");
	await shot(p, "incidents-1440-light");
	await refusesToHoldTheDead(p);
	await showTrial(p);
	await noSeriousFindings(p, "proof of an incident");
	await nothingRecorded();
	await emptyStates(address, at);
	await questionFails(p, address, at);
	await serverGoes(p, address, at);
	// a mark on a recording that ended long ago has no answer, and the page says so: that is not an error of the page
	assert.deepEqual(problems.filter((t) => !/status of 40[04]|net::ERR_/.test(t)), []);
	console.log("the web view works");
} finally {
	await browser?.close();
	server?.process.kill("SIGTERM");
	rmSync(folder, { recursive: true, force: true });
}
