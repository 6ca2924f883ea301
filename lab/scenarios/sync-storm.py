"""A program writes 20 or 100 MB and then asks for everything to be on the disk (sync), again and again."""
from resources import CPU, WRITING

GROUP = "disk"
RESOURCE = "io"
FEATURES = CPU | WRITING | {"tasks.forks", "children.short", "children.cpu", "wait.other", "wait.lock"}
CAUSE = "disk-write"  # 20 to 100 MB at once is not a small write
TOLERABLE = {"children", "cpu", "cpu-group", "synced-writes", "kernel-work", "many-starts", "written-faster-than-disk"}


def inject(stage, chance):
    piece = chance.choice((20, 100))
    once = f"dd if=/dev/urandom of=diary bs=1M count={piece} conv=notrunc 2>/dev/null; sync"
    return [stage.start("sh", "-c", f"while :; do {once}; done", name="careful")]


def restore(stage):
    (stage.work / "diary").unlink(missing_ok=True)
