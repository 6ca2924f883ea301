"""Pages of a browser are printed to a document, a browser for each (chromium)."""
import shutil

from resources import CHILDREN, CPU, FAULTS, MEMORY, SWITCHING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | MEMORY | FAULTS | SWITCHING | {"threads.count"}
CAUSE = "browser"
TOLERABLE = {"cpu-group", "children"}
NEEDS = ("chromium",)


def make(stage):
    (stage.work / "long.html").write_text("<table>" + "".join(f"<tr><td>{i}<td>{i * i}<td>row {i}" for i in range(3000)) + "</table>")


def inject(stage, chance):
    once = (f"HOME={stage.work} chromium --headless=new --no-sandbox --disable-gpu --no-first-run --user-data-dir={stage.work}/printer-$i "
            f"--print-to-pdf={stage.work}/printer-$i.pdf file://{stage.work}/long.html")
    return [stage.start("sh", "-c", f"for i in $(seq {chance.choice((1, 2))}); do (while :; do {once}; done) & done; wait", name="print-service")]


def restore(stage):
    for path in stage.work.glob("printer-*"):
        shutil.rmtree(path, ignore_errors=True)
        path.unlink(missing_ok=True)
