"""Zeros are written over a disk image past the page cache, in big pieces (dd)."""
from resources import CPU, WRITING

GROUP = "disk"
RESOURCE = "io"
FEATURES = WRITING | CPU
CAUSE = "disk-write"
TOLERABLE = {"written-faster-than-disk", "disk-shared"}


def inject(stage, chance):
    once = f"dd if=/dev/zero of={stage.work}/zeros bs={chance.choice(('1M', '8M'))} count=256 oflag=direct"
    return [stage.start("sh", "-c", f"while :; do {once}; done", name="wipe")]


def restore(stage):
    (stage.work / "zeros").unlink(missing_ok=True)
