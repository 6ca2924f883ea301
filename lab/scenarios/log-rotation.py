"""Big logs are put away and packed (logrotate), by a job that has waited for long."""
from resources import CHILDREN, CPU, READING, WRITING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | READING | WRITING | CHILDREN
CAUSE = "compressing"
TOLERABLE = {"cpu", "cpu-group", "children"}
NEEDS = ("logrotate", "gzip")


def make(stage):
    path = stage.work / "access.log"
    if not path.exists():
        path.write_text("".join(f"10.0.{i % 256}.{i * 7 % 256} - - [27/Nov/2026] \"GET /item/{i * 2654435761 % 99991} HTTP/1.1\" 200 {i % 4096}\n" for i in range(4000000)))


def inject(stage, chance):
    folder = stage.work / "logs"
    stage.script("rotate.conf", f"{folder}/*.log {{\n rotate 1\n compress\n compressoptions -{chance.choice((6, 9))}\n nodelaycompress\n}}\n")
    copies = f"for i in $(seq {chance.choice((1, 3))}); do cp {stage.work}/access.log {folder}/$i.log; done"
    once = f"{copies}; logrotate --force --state {folder}/state {stage.work}/rotate.conf"
    return [stage.start("sh", "-c", f"mkdir -p {folder}; while :; do {once}; done", name="rotation")]


def restore(stage):
    for path in (stage.work / "logs").glob("*"):
        path.unlink()
