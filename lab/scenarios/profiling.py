"""A user profiles the whole machine, much finer than is good for it."""
from resources import CPU, SWITCHING, WRITING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | SWITCHING | WRITING | {"mem.locked", "io.read_chars", "io.read_calls"}
CAUSE = "kernel-work"
TOLERABLE = {"cpu", "cpu-group", "disk-write", "synced-writes", "written-faster-than-disk"}
NEEDS = ("perf",)


def inject(stage, chance):
    return [stage.start("perf", "record", "-a", "-g", "-F", chance.choice((5000, 15000)), "-e", "cpu-clock", "-o", stage.work / "perf.data", "sleep", 60)]


def restore(stage):
    (stage.work / "perf.data").unlink(missing_ok=True)
