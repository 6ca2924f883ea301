"""A copy of a folder is compared with it by checksum, file by file (rsync)."""
import shutil

from resources import CPU, READING, SWITCHING, WRITING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | READING | WRITING | SWITCHING
CAUSE = "backup"
TOLERABLE = {"cpu", "cpu-group", "disk-read", "disk-write", "kernel-work"}
NEEDS = ("rsync",)


def inject(stage, chance):
    folder = chance.choice(("/usr/lib/x86_64-linux-gnu", "/usr/include", "/usr/share"))
    return [stage.start("sh", "-c", f"while :; do rsync -a --checksum {folder} {stage.work}/mirror/; done", name="mirror")]


def restore(stage):
    shutil.rmtree(stage.work / "mirror", ignore_errors=True)
