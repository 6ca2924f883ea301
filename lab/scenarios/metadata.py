"""A program makes, renames and deletes small files without a pause."""
import shutil

from resources import CPU, WRITING

GROUP = "disk"
RESOURCE = "cpu"
FEATURES = CPU | WRITING | {"io.cancelled_bytes"}
CAUSE = "kernel-work"
TOLERABLE = {"cpu", "cpu-group", "disk-write", "synced-writes"}


def inject(stage, chance):
    folder = stage.work / "metadata"
    folder.mkdir(exist_ok=True)
    return [stage.start("stress-ng", chance.choice(("--dentry", "--rename", "--dir", "--touch")), chance.choice((1, 2)), "--temp-path",
                        folder, "--quiet")]


def restore(stage):
    shutil.rmtree(stage.work / "metadata", ignore_errors=True)
