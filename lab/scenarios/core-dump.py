"""The memory of a large program is written to a file, as when it has crashed (gcore): it stands still until then."""
from resources import CPU, MEMORY, READING, WRITING

GROUP = "disk"
RESOURCE = "io"
FEATURES = CPU | WRITING | READING | MEMORY
CAUSE = "disk-write"
TOLERABLE = {"written-faster-than-disk", "cpu", "kernel-work", "stopped"}
NEEDS = ("gcore",)


def inject(stage, chance):
    victim = stage.start("python3", "-c", "import time; x = b'x' * (1 << 30) * 2; time.sleep(1000)", name="large")
    return [stage.start("sh", "-c", f"sleep 1; while :; do gcore -o {stage.work}/core {victim.process.pid}; done", name="crash-reporter"), victim]


def restore(stage):
    for path in stage.work.glob("core.*"):
        path.unlink()
