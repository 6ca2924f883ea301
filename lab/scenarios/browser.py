"""A browser opens a page whose scripts never rest."""
import shutil

from resources import CPU, FAULTS, MEMORY, SWITCHING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | MEMORY | FAULTS | SWITCHING | {"threads.count"}
CAUSE = "browser"
TOLERABLE = set()
NEEDS = ("chromium",)
PAGE = """<body><script>
const work = new Blob(["let a = []; for (;;) { a.push(Math.random()); if (a.length > 1e5) { a.sort(); a = []; } }"]);
for (let i = 0; i < 3; i++) new Worker(URL.createObjectURL(work));
setInterval(() => { for (let i = 0; i < 300; i++) { const e = document.createElement("p"); e.textContent = Math.random();
  document.body.append(e); } document.body.scrollTop = 1e9; while (document.body.children.length > 3000) document.body.firstChild.remove(); }, 16);
</script>"""


def make(stage):
    (stage.work / "page.html").write_text(PAGE)


def inject(stage, chance):
    return [stage.start("chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0",
                        f"--user-data-dir={stage.work}/profile", f"file://{stage.work}/page.html", before=("env", f"HOME={stage.work}"))]


def restore(stage):
    shutil.rmtree(stage.work / "profile", ignore_errors=True)
