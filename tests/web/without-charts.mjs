// A build without the browser's modules from others: without-charts.mjs WITHOUT WHYSLOW MAKE-RECORDING. The page answers, and the place of a
// chart says how to get charts. WITHOUT: the folder with what stands in (web/without).
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launch, newPage, problems, serve } from "./harness.mjs";

const [without, whyslow, makeRecording] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "whyslow-web-")), store = join(folder, "r.db");
const TYPES = { js: "text/javascript", css: "text/css" };
let server, browser;

async function standIn(p) {
	for (const file of ["uPlot.esm.js", "three.module.min.js", "three.core.min.js", "uPlot.min.css"])
		await p.route(`**/${file}`, (route) => route.fulfill({ contentType: TYPES[file.split(".").at(-1)], body: readFileSync(join(without, file)) }));
}

try {
	const made = execFileSync(makeRecording, [store, "--hours", "0.2", "--processes", "20", "--active", "8", "--seed", "5"], { encoding: "utf8" });
	const at = Number(/^end (\d+)$/m.exec(made)[1].slice(0, -9)) - 5;
	server = await serve(whyslow, folder, ["--store", store]);
	browser = await launch();
	const p = await newPage(browser);
	await standIn(p);
	await p.goto(`${server.address}#at=@${at}`);
	await p.locator("#process-list tbody tr").first().waitFor();
	await p.locator("#process-list tbody tr").first().click();
	await p.locator("#feature-list tbody tr").first().waitFor();
	await p.locator("#feature-list tbody tr").first().click();
	await p.locator("#chart", { hasText: "make charts" }).waitFor();
	const said = await p.evaluate(() => import("./surface.js").catch((e) => e.message));
	assert.match(said, /make charts/, "what draws surfaces says how to get them");
	assert.deepEqual(problems, []);
	console.log("ok: the page works without charts, and says how to get them");
} finally {
	await browser?.close();
	server?.process.kill();
	rmSync(folder, { recursive: true });
}
