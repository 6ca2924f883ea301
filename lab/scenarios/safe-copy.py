"""A folder of many files is copied, and each file synced to the disk before the next (rsync --fsync)."""
import shutil

from resources import CPU, READING, SWITCHING, WRITING

GROUP = "disk"
RESOURCE = "io"
FEATURES = WRITING | READING | CPU | SWITCHING
CAUSE = "synced-writes"
TOLERABLE = {"disk-write", "backup"}
NEEDS = ("rsync",)


def inject(stage, chance):
    source = chance.choice(("/usr/include", "/usr/share/doc"))
    once = f"rsync -a --fsync {source} {stage.work}/safe-copy; rm -rf {stage.work}/safe-copy"
    return [stage.start("sh", "-c", f"while :; do {once}; done", name="safe-copy")]


def restore(stage):
    shutil.rmtree(stage.work / "safe-copy", ignore_errors=True)
