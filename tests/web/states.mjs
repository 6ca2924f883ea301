// Every state of the page: states.mjs WHYSLOW MAKE-RECORDING MAKE-INCIDENT MAKE-SPANS. From each state in `starts` whatever there is to be done is
// done, by keyboard alone: what it leads to must stand in the address (reloaded, it shows the same), the browser's way back must lead back,
// the focus must not be lost, and nothing that can be pressed does nothing. Tab must come to everything and out again, and show where it
// is. On a phone no page is wider than the screen.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { recordAll } from "./fixture.mjs";
import { launch, newPage, nothingWiderThanThePage, problems, serve } from "./harness.mjs";

const [whyslow, makeRecording, makeIncident, makeSpans] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "whyslow-states-"));
const PAGES = 3; // states that are tried next to each other
const QUIET = 80; // ms without a question, an answer, another address, and without anything that is put off: nothing more comes by itself
const PUT_OFF = 1000; // ms: timers of less are waited for
const PATIENT = 3000; // on a starved machine it may all the same: whatever was found is looked at once more with so much
const SPANS = 20000;
const STOPS_MAX = 90; // of Tab on one page
const wrong = [], patience = new Map(); // what was found; of each page
let server, browser;

const starts = (end, pid) => ({
	machine: `view=machine&at=@${end - 5}`, "machine, chosen": `view=machine&at=@${end - 5}&pid=${pid}&feature=mem.anon&more=${pid}:cpu.time&from=${end - 300}&to=${end - 60}`,
	"machine of a mark": "view=machine&at=1&mark=1", "machine, nobody": `view=machine&at=@${end - 5}&filter=nobody-is-called-so`, "machine, before the recording": "view=machine&at=@1000000000",
	timeline: "view=timeline&mark=1", "timeline, chosen": "view=timeline&mark=1&tid=103&pid=103&path=1",
	blame: "view=blame&mark=1", "blame, chosen": "view=blame&mark=1&cell=0,0&wait=cpu&sort=c0",
	flame: "view=flame&mark=1", "flame, beside": "view=flame&mark=2&base=1&frame=guilty;main", "flame, waits": "view=flame&mark=1&kind=waits&search=lock",
	incidents: "view=incidents", "incidents, beside": "view=incidents&mark=1&with=2", "incidents, none": "view=incidents&mark=77",
	spans: "view=spans", "spans, beside": "view=spans&baseline=agent%3D1.6.0&candidate=agent%3D1.7.0&critical=1",
	fleet: "view=fleet", "fleet, a rule": "view=fleet&rulefor=web-03%7Cqueue&rlevel=0.5&rfor=2", "fleet, chosen": "view=fleet&counter=queue&server=web-01&ffrom=1700030000&fto=1700034000&rule=when+any+queue+in+detail+view+%3E+10+report",
});

// --- in the page ---

function watch(putOff) {
	const seen = globalThis.seen = { open: 0, asked: 0, timers: new Set(), last: performance.now() };
	const touch = () => { seen.last = performance.now(); };
	const { fetch, setTimeout, clearTimeout } = globalThis, { pushState, replaceState } = history, { json } = Response.prototype;
	const during = (promise) => {
		seen.open++;
		return promise.finally(() => { seen.open--; touch(); });
	};
	// nothing that is asked for changes while states are tried: the server answers each question once
	const answers = caches.open("answers"), changes = /\/api\/v1\/events/;
	const remembered = async (address, options) => {
		if ((options?.method ?? "GET") !== "GET" || changes.test(address)) return fetch(address, options);
		const known = await (await answers).match(address);
		if (known) return known;
		const answer = await fetch(address, options);
		if (answer.ok) await (await answers).put(address, answer.clone());
		return answer;
	};
	globalThis.fetch = (...all) => {
		seen.asked++;
		return during(remembered(...all));
	};
	Response.prototype.json = function () { return during(json.call(this)); };
	globalThis.setTimeout = (work, ms, ...more) => {
		const id = setTimeout(() => {
			seen.timers.delete(id);
			work(...more);
		}, ms);
		if (!(ms >= putOff)) seen.timers.add(id);
		return id;
	};
	globalThis.clearTimeout = (id) => {
		seen.timers.delete(id);
		clearTimeout(id);
	};
	history.pushState = (...all) => { touch(); return pushState.apply(history, all); };
	history.replaceState = (...all) => { touch(); return replaceState.apply(history, all); };
	addEventListener("popstate", touch);
}

// What something who looks, and something who listens, is reported.
function told() {
	const shown = (e) => e.checkVisibility({ visibilityProperty: true });
	const name = (e) => e.getAttribute("aria-label") ?? e.labels?.[0]?.innerText.split("\n")[0] ?? e.id;
	const main = document.querySelector("main:not([hidden])"), controls = [...document.querySelectorAll("header :is(input, select), main:not([hidden]) :is(input, select, textarea)")].filter(shown);
	const chosen = [...document.querySelectorAll('[aria-selected="true"], [aria-pressed="true"], [aria-current]')].filter(shown);
	return [...main.innerText.split("\n").map((line) => line.trim()).filter(Boolean),
		...controls.map((c) => `control ${name(c)}: ${c.type === "checkbox" ? c.checked : c.value}`),
		...chosen.map((c) => `chosen ${c.getAttribute("aria-label") ?? c.dataset.key ?? c.textContent}`),
		...[...main.querySelectorAll("canvas")].filter(shown).map((c) => `drawing ${c.getAttribute("aria-label")}`)];
}

// What can be done: one of many that are in the same way, two of a few. Marks each with a number and returns what it is.
function doable() {
	const shown = (e) => e.checkVisibility({ visibilityProperty: true }) && e.getBoundingClientRect().width > 0;
	const ACTS = /^(It is slow now|keep note|right|wrong|fixed|Is it really the cause\?|Freeze again|Log out)$/; // they change or ask the machine, not the view; login.mjs logs out
	const kinds = new Map(), list = [];
	for (const old of document.querySelectorAll("[data-try]")) delete old.dataset.try;
	for (const e of document.querySelectorAll("header :is(button, select), main:not([hidden]) :is(button, select, a[href^='#'], tbody tr[tabindex], [role=button], td.heat, [role=option], input[type=checkbox])")) {
		if (!shown(e) || ACTS.test(e.textContent) || e.getAttribute("aria-disabled") === "true" || e.getAttribute("aria-selected") === "true" || (e.tagName === "SELECT" && e.options.length < 2)) continue;
		const many = e.matches("tbody *, svg *, thead *, .chain *, figure *, [role=option], .answer *"), place = e.closest("section, header, form");
		const kind = `${e.tagName} ${e.className.baseVal ?? e.className} ${place?.id || place?.getAttribute("aria-labelledby") || ""} ${many ? "" : e.textContent.slice(0, 20)} ${many ? "" : e.id}`;
		kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
		if (kinds.get(kind) > (many ? 1 : 2)) continue;
		e.dataset.try = list.length;
		list.push({ tag: e.tagName, role: e.getAttribute("role"), name: `${e.tagName.toLowerCase()} ${(e.getAttribute("aria-label") ?? e.labels?.[0]?.textContent ?? e.textContent).trim().slice(0, 60)}` });
	}
	return list;
}

// Where the focus is: null = nowhere. `seen`: an outline, or the stroke of what is drawn, shows it within the window.
function focused() {
	const e = document.activeElement;
	if (!e || e === document.body) return null;
	const box = e.getBoundingClientRect(), drawn = e.querySelector?.("rect");
	const lit = (x) => x && getComputedStyle(x).outlineStyle !== "none" && parseFloat(getComputedStyle(x).outlineWidth) > 0;
	const struck = drawn && e.tagName === "g" && getComputedStyle(drawn).stroke !== "none";
	const again = e.reached === true;
	e.reached = true;
	return { again, name: `${e.tagName.toLowerCase()}${e.id ? `#${e.id}` : ""} ${(e.getAttribute("aria-label") ?? e.textContent).trim().slice(0, 50)}`, shown: e.checkVisibility(),
		seen: e.tagName === "MAIN" || ((lit(e) || struck) && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth) };
}

// Whom Tab did not come to, though it should have.
function missed() {
	const shown = (e) => e.checkVisibility({ visibilityProperty: true }) && e.getBoundingClientRect().width > 0;
	const all = [...document.querySelectorAll("button, select, input, textarea, a[href], [tabindex='0'], [role=grid], [role=button]")].filter((e) => shown(e) && !e.closest("main[hidden]"));
	// of many there is one stop, from which arrows continue; a grid has one in its body
	const stop = (e) => e.reached || (e.getAttribute("tabindex") === "-1" && e.closest("svg, tr, table, [role=grid]") && [...e.closest("svg, table, [role=grid]").querySelectorAll("*")].some((x) => x.reached)) ||
		(e.matches("[role=grid]") && (!e.tBodies[0]?.rows.length || [...e.tBodies[0].querySelectorAll("*")].some((x) => x.reached)));
	return all.filter((e) => !stop(e)).map((e) => `${e.tagName.toLowerCase()} ${(e.getAttribute("aria-label") ?? e.textContent).trim().slice(0, 50)}`);
}

// --- next to it ---

const settled = (p) => p.waitForFunction((quiet) => globalThis.seen?.asked && globalThis.seen.open === 0 && globalThis.seen.timers.size === 0 && performance.now() - globalThis.seen.last > quiet && !document.querySelector("main:not([hidden])[aria-busy=true]") && !/^(reading|freezing|asking|counting|looking)/.test([...document.querySelectorAll("[role=status]")].map((e) => e.textContent).find(Boolean) ?? ""), patience.get(p) ?? QUIET, { polling: 20 });
const snapshot = async (p) => { await settled(p); return p.evaluate(told); };
const hash = (p) => new URL(p.url()).hash;
const differences = (a, b) => [...a.filter((l) => !b.includes(l)).map((l) => `- ${l}`), ...b.filter((l) => !a.includes(l)).map((l) => `+ ${l}`)].slice(0, 6).join("\n    ");

/* By way of something else of the server's: another fragment alone is not a new page. (Were it about:blank, what the page left
 * still asks for, its icon, would come from nowhere.) */
async function open(p, address, start) {
	const { origin } = new URL(address);
	await p.goto(`${origin}/icon.svg`);
	await p.goto(`${origin}/#${start}`);
	return snapshot(p);
}

async function act(p, i, what) {
	await p.evaluate((n) => {
		const e = document.querySelector(`[data-try="${n}"]`);
		if (e.getAttribute("tabindex") === "-1") e.setAttribute("tabindex", "0"); // an arrow would have brought the focus there
		if (e.getAttribute("role") === "option") e.click(); // the list has the focus, and arrows
		else e.focus();
	}, i);
	if (what.tag === "SELECT") await p.keyboard.press("ArrowDown");
	else if (what.role !== "option") await p.keyboard.press(what.tag === "INPUT" ? "Space" : "Enter");
}

// What is found wrong must be so also with patience. `look(complain)` opens what it looks at.
async function twice(p, look) {
	for (const ms of [QUIET, PATIENT]) {
		const found = [];
		patience.set(p, ms);
		await look((text) => found.push(text));
		patience.set(p, QUIET);
		if (!found.length) return;
		if (ms === PATIENT) wrong.push(...found);
	}
}

// One thing done: the address tells all of it, the way back is one step, and the focus is somewhere. Returns what is shown then, or
// null: elsewhere than it began.
async function tryOne(p, before, i, what, complain) {
	const from = hash(p);
	await act(p, i, what);
	const after = await snapshot(p), to = hash(p);
	if (to === from) {
		if (!differences(before, after) && !/^select|Everything|Order by/.test(what.name)) complain("does nothing");
		return differences(before, after) ? null : before;
	}
	const focus = await p.evaluate(focused);
	if (!focus?.shown && what.role !== "option") complain(`the focus is lost${focus ? ` (${focus.name} is not shown)` : ""}`);
	await p.reload();
	const again = await snapshot(p);
	if (differences(after, again)) complain(`reloaded, ${to} shows something else:\n    ${differences(after, again)}`);
	await p.goBack();
	const back = await snapshot(p);
	if (hash(p) !== from) complain(`the way back leads to ${hash(p)}`);
	else if (differences(before, back)) complain(`back, something else is shown:\n    ${differences(before, back)}`);
	else return back;
	return null;
}

async function tryAll(p, address, name, start) {
	let before = await open(p, address, start);
	const list = await p.evaluate(doable);
	for (const [i, what] of list.entries())
		await twice(p, async (complain) => {
			before = patience.get(p) === QUIET && before ? before : await open(p, address, start);
			const now = await p.evaluate(doable); // the page was loaded again
			if (now[i]?.name !== what.name) complain(`${name}: what can be done has changed: ${what.name} is ${now[i]?.name}`);
			else before = await tryOne(p, before, i, what, (text) => complain(`${name}: ${what.name}: ${text}`));
		});
	return list.length;
}

// Tab goes through all of the page and out of it again.
async function walk(p, address, name, start, complain) {
	await open(p, address, start);
	await p.evaluate(() => document.activeElement?.blur());
	let stops = 0;
	for (; stops < STOPS_MAX; stops++) {
		await p.keyboard.press("Tab");
		const at = await p.evaluate(focused);
		if (!at || at.again) break;
		if (!at.seen) complain(`${name}: nothing shows that the focus is on ${at.name}`);
	}
	if (stops === STOPS_MAX) complain(`${name}: more than ${STOPS_MAX} stops of Tab`);
	for (const e of await p.evaluate(missed)) complain(`${name}: Tab does not come to ${e}`);
	return stops;
}

async function tryState(p, address, [name, start]) {
	const began = Date.now(), done = await tryAll(p, address, name, start);
	let stops = 0;
	await twice(p, async (complain) => { stops = await walk(p, address, name, start, complain); });
	await p.setViewportSize({ width: 390, height: 800 });
	await p.evaluate(() => new Promise((then) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(then)))));
	await nothingWiderThanThePage(p, name).catch((e) => wrong.push(e.message));
	await p.setViewportSize({ width: 1440, height: 900 });
	console.log(`${name}: ${done} things done, ${stops} stops, ${((Date.now() - began) / 1000).toFixed(1)} s`);
}

try {
	const { options, end } = recordAll(folder, { whyslow, makeRecording, makeIncident, makeSpans }, SPANS);
	const { processes } = JSON.parse(execFileSync(whyslow, ["show", "--json", "--at", `@${end - 5}`, "--run-dir", folder, ...options.slice(0, 2)], { encoding: "utf8" }));
	server = await serve(whyslow, folder, options);
	browser = await launch();
	const left = Object.entries(starts(end, processes.find((p) => p.since === null).pid)); // who was there all the time
	await Promise.all(Array.from({ length: PAGES }, async () => {
		const p = await newPage(browser);
		p.setDefaultTimeout(60000);
		await p.addInitScript(watch, PUT_OFF);
		await p.goto(server.address);
		for (let next = left.shift(); next; next = left.shift()) await tryState(p, server.address, next).catch((e) => wrong.push(`${next[0]}: ${e.message}`));
	}));
	if (wrong.length) console.log(wrong.join("\n"));
	assert.equal(wrong.length, 0);
	// of what was not recorded there is no answer, and the page says so
	assert.deepEqual(problems.filter((t) => !/status of (404|400)/.test(t)), []);
	console.log("every state is in its address");
} finally {
	await browser?.close();
	server?.process.kill("SIGTERM");
	rmSync(folder, { recursive: true, force: true });
}
