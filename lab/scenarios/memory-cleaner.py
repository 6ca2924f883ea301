"""A script to keep memory free throws away what the kernel keeps of files, again and again: everybody reads all of it from the disk."""
from resources import CHILDREN, CPU, LOCKS, READING, SWITCHING, WRITING

GROUP = "memory"
RESOURCE = "io"
FEATURES = CHILDREN | CPU | LOCKS | READING | SWITCHING | WRITING
CAUSE = "kernel-work"
TOLERABLE = {"cache-thrash", "children", "cpu", "cpu-group", "disk-write", "many-starts", "synced-writes"}


def inject(stage, chance):
    pause = chance.choice((0.05, 0.3))
    return [stage.start("sh", "-c", f"while :; do sync; echo 3 >/proc/sys/vm/drop_caches; sleep {pause}; done", name="cleaner")]
