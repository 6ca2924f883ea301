// What tests of the web view share: a server on a recording, a browser, and what must hold on every page.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const browserPath = process.env.CHROMIUM, shots = process.env.SHOTS; // a folder for screenshots, or none
export const problems = []; // errors of any page
export const SIZES = [[1440, "light"], [1440, "dark"], [1024, "light"], [1024, "dark"], [390, "light"], [390, "dark"]];

// What pages of newPage() are logged in with; tests/web/login.mjs logs in as a person does.
const TOKEN = "0123456789abcdef".repeat(4);

// Its address; `process` to end it; `code` for one login.
export async function serve(whyslow, folder, options, listen = "127.0.0.1:0") {
	const tokens = join(folder, "tokens");
	if (!existsSync(tokens)) writeFileSync(tokens, `test ${TOKEN}\n`, { mode: 0o600 });
	const process = spawn(whyslow, ["serve", "--listen", listen, "--run-dir", folder, "--token-file", tokens, ...options], { stdio: ["ignore", "pipe", "inherit"] });
	const printed = await new Promise((resolve, reject) => {
		process.stdout.once("data", (d) => resolve(String(d).split("\n")[0]));
		process.once("exit", () => reject(new Error("whyslow serve ended")));
	});
	const [address, code] = printed.split("#login=");
	return { process, address, code };
}

// A drawing on a graphics card that is not there is drawn by the CPU.
export const launch = () => chromium.launch({ executablePath: browserPath, args: ["--no-sandbox", "--enable-unsafe-swiftshader"] });

// A page that is logged in; in it, asked() is fetch() with the session.
export async function newPage(browser, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
	await context.addInitScript((token) => {
		sessionStorage.setItem("whyslow.session", token);
		globalThis.asked = (address, more = {}) => fetch(address, { ...more, headers: { ...more.headers, Authorization: `Bearer ${token}` } });
	}, TOKEN);
	const page = await context.newPage();
	page.on("console", (m) => m.type() === "error" && problems.push(`console: ${m.text()} ${m.location().url}`));
	page.on("pageerror", (e) => problems.push(`page: ${e.message}`));
	page.on("request", (r) => /[=,](undefined|NaN|%5Bobject)\b/.test(r.url()) && problems.push(`a question about nothing: ${r.url()}`));
	return page;
}

export async function noSeriousFindings(page, what) {
	if (!await page.evaluate(() => Boolean(globalThis.axe))) {
		const cdp = await page.context().newCDPSession(page); // the page's policy lets nothing else bring a program
		await cdp.send("Runtime.evaluate", { expression: axe });
	}
	const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
	const serious = found.violations.filter((v) => ["serious", "critical"].includes(v.impact));
	assert.deepEqual(serious.map((v) => `${what}: ${v.id}: ${v.nodes[0].target}`), []);
}

export const nothingWiderThanThePage = async (page, what) =>
	assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${what}: the page is wider than the window`);

export const listsEndWithWholeRows = async (page, what) =>
	assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll("main:not([hidden]) .scroll")].filter((box) => {
		const end = box.getBoundingClientRect().top + box.clientHeight;
		return box.scrollHeight > box.clientHeight && box.scrollTop === 0 && [...box.querySelectorAll("tbody tr")].map((row) => row.getBoundingClientRect()).some((row) => row.top < end - 2 && row.bottom > end + 2);
	}).map((box) => box.id || box.textContent.slice(0, 40))), [], `${what}: lists that end within a row`);

// The hint in an empty field and a button in a list can be read and pressed without scrolling.
export const nothingIsCut = async (page, what) =>
	assert.deepEqual(await page.evaluate(() => {
		const shown = (selector) => [...document.querySelectorAll(selector)].filter((e) => e.getClientRects().length > 0), pen = document.createElement("canvas").getContext("2d");
		const hints = shown("main:not([hidden]) input[placeholder]:not([placeholder=''])").filter((input) => {
			const style = getComputedStyle(input);
			pen.font = style.font;
			return pen.measureText(input.placeholder).width > input.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
		});
		const buttons = shown("main:not([hidden]) .scroll td button").filter((button) => button.getBoundingClientRect().right > button.closest(".scroll").getBoundingClientRect().right);
		return [...hints.map((input) => input.placeholder), ...new Set(buttons.map((button) => button.closest(".scroll").id))];
	}), [], `${what}: cut off`);

// What is missing is left out, and is not written as JavaScript prints it.
export const nothingIsNull = async (page, what) =>
	assert.deepEqual(await page.evaluate(() => document.querySelector("main:not([hidden])")?.innerText.match(/.*\b(null|undefined|NaN)\b.*/g) ?? []), [], `${what}: without a value`);

// A page that is open is made wide and narrow, light and dark: at each it fits and is read by everybody. `also`: what else must hold.
export async function atEverySize(page, name, also = () => null) {
	for (const [width, colorScheme] of SIZES) {
		const what = `${name} ${width} ${colorScheme}`;
		await page.setViewportSize({ width, height: 900 });
		await page.emulateMedia({ colorScheme });
		// drawn again: what watches sizes is reported after a frame, and draws in the next one
		await page.evaluate(() => new Promise((done) => { let n = 3; const next = () => (n-- ? requestAnimationFrame(next) : done()); next(); }));
		await nothingWiderThanThePage(page, what);
		await listsEndWithWholeRows(page, what);
		await nothingIsCut(page, what);
		await nothingIsNull(page, what);
		await noSeriousFindings(page, what);
		if (shots) await page.screenshot({ path: join(shots, `${name}-${width}-${colorScheme}.png`), fullPage: true });
		await also(what, width, colorScheme);
	}
}
