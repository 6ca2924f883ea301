"""A file is overwritten with random data before it is deleted (shred)."""
from resources import CPU, WRITING

GROUP = "tools"
RESOURCE = "io"
FEATURES = CPU | WRITING
CAUSE = "disk-write"
TOLERABLE = {"synced-writes", "written-faster-than-disk"}
NEEDS = ("shred",)


def inject(stage, chance):
    passes = chance.choice((1, 3))
    once = f"truncate -s 1G {stage.work}/secret; shred --iterations={passes} --zero {stage.work}/secret"
    return [stage.start("sh", "-c", f"while :; do {once}; done", name="shred")]


def restore(stage):
    (stage.work / "secret").unlink(missing_ok=True)
