// picture.mjs WHYSLOW RECORDING with MARK and FILE in the environment: the machine's pane at a mark of a recording, as README.md shows it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launch, newPage, serve } from "./harness.mjs";

const [whyslow, recording] = process.argv.slice(2), { MARK: mark, FILE: file } = process.env;
const folder = mkdtempSync(join(tmpdir(), "whyslow-picture-"));
const server = await serve(whyslow, folder, ["--from", recording]);
const browser = await launch();
try {
	const page = await newPage(browser);
	await page.goto(`${server.address}#view=incidents&mark=${mark}`);
	await page.locator("#incident .answer .summary").waitFor();
	await page.locator("#incident a", { hasText: "machine then" }).click();
	await page.locator("#verdict .summary", { hasText: "slow" }).waitFor();
	await page.locator("#process-list tbody tr").first().click();
	await page.locator("#feature-list tbody tr").first().click();
	await page.waitForFunction(() => !document.getElementById("status").textContent.startsWith("reading"));
	await page.waitForTimeout(500);
	await page.screenshot({ path: file, fullPage: true });
} finally {
	await browser.close();
	server.process.kill();
	rmSync(folder, { recursive: true });
}
