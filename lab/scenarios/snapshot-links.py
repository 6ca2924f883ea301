"""A snapshot of a folder is made of hard links and an old one deleted, again and again (cp -al, rm), as backups do."""
import shutil

from resources import CPU, WRITING

GROUP = "disk"
RESOURCE = "cpu"
FEATURES = CPU | WRITING | {"io.cancelled_bytes"}
CAUSE = "kernel-work"
TOLERABLE = {"cpu", "cpu-group", "backup", "disk-write"}


def make(stage):
    folder = stage.work / "linked"
    if not folder.exists():
        shutil.copytree("/usr/include", folder, symlinks=True)


def inject(stage, chance):
    once = f"cp -al {stage.work}/linked {stage.work}/snapshot-$i; rm -rf {stage.work}/snapshot-$i"
    return [stage.start("sh", "-c", f"for i in $(seq {chance.choice((3, 4))}); do (while :; do {once}; done) & done; wait", name="snapshots")]


def restore(stage):
    for folder in stage.work.glob("snapshot-*"):
        shutil.rmtree(folder, ignore_errors=True)
