// picture.mjs WHYSLOW RECORDING with MARK, FOLDER, PICTURES (names; none = all) and WHO (a pid; none = the culprit) in the environment: the pictures of README.md, of a mark of a
// recording: FOLDER/machine.png, timeline.png (who of it waited most, and the critical path), blame.png.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launch, newPage, serve } from "./harness.mjs";

const [whyslow, recording] = process.argv.slice(2), { MARK: mark, FOLDER: pictures, PICTURES: wanted, WHO: who } = process.env;
const AROUND = 0.4; // s of the timeline
const folder = mkdtempSync(join(tmpdir(), "whyslow-picture-"));
const server = await serve(whyslow, folder, ["--from", recording]);
const browser = await launch();

async function take(page, name, hash, ready) {
	if (wanted && !wanted.split(" ").includes(name)) return;
	await page.goto(`${new URL(server.address).origin}/#${hash}`);
	await page.locator(ready).first().waitFor();
	await page.waitForFunction(() => !/^(reading|freezing|asking)/.test([...document.querySelectorAll("[role=status]")].map((e) => e.textContent).find(Boolean) ?? ""));
	await page.waitForTimeout(500);
	await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
}

try {
	const page = await newPage(browser);
	await page.goto(server.address);
	const answer = await page.evaluate((id) => asked(`/api/v1/incident?id=${id}`).then((r) => r.json()), mark), pid = who ?? answer.culprits[0].pid;
	const at = Date.parse(answer.at) / 1000, zoomed = `from=${(at - AROUND / 2).toFixed(3)}&to=${(at + AROUND / 2).toFixed(3)}`;
	await take(page, "machine", `view=machine&at=${mark}&mark=${mark}&feature=${answer.culprits[0].features[0].name}`, "#lives .life");
	const lines = await page.evaluate(({ id, who, from, to }) => asked(`/api/v1/timeline?mark=${id}&pid=${who}&filter=${who}&since=@${from}&until=@${to}&points=1&order=waited`).then((r) => r.json()), { id: mark, who: pid, from: at - AROUND / 2, to: at + AROUND / 2 });
	const tid = lines.rows.lines.find((l) => l.tid !== null).tid;
	await take(page, "timeline", `view=timeline&mark=${mark}&pid=${pid}&tid=${tid}&path=1&${zoomed}&when=${at.toFixed(3)}`, "#timeline .instant strong");
	await take(page, "blame", `view=blame&mark=${mark}&top=8`, "#blame .node");
} finally {
	await browser.close();
	server.process.kill();
	rmSync(folder, { recursive: true });
}
