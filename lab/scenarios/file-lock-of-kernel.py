"""Two programs write to one file on a slow volume: one appends a line now and then, as a log, and another one begins to write large pieces past the page cache. The
kernel lets one write at a time."""
from pathlib import Path

import victims
from resources import CPU, SWITCHING, WRITING

GROUP = "reported"
RESOURCE = "io"
FEATURES = CPU | SWITCHING | WRITING
CAUSE = "disk-write"
TOLERABLE = {"synced-writes", "written-faster-than-disk", "disk-both", "lock-holder", "lock", "lock-held", "waits-inside"}
NEEDS = ("python3",)
RATE = 8 << 20
APPENDS = """import os, sys, timed
log = os.open(sys.argv[3], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def append():
    os.write(log, b"a line of the journal\\n")
timed.repeat(append)
"""


def prepare(stage, chance):
    stage.mount_image(Path(stage.file("volume", 3 << 30)))
    (stage.image_folder / "journal").write_bytes(bytes(64 << 20))
    stage.slow_volume(RATE)
    victims.start(stage, "journal-writer", APPENDS, stage.image_folder / "journal")
    stage.watch(1)


def inject(stage, chance):
    path = stage.image_folder / "journal"
    return [stage.start("sh", "-c", f"while :; do dd if=/dev/zero of={path} bs=8M count=8 conv=notrunc oflag=direct; done", name="rewriter")]


def restore(stage):
    stage.unmount_image()
