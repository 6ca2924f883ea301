"""A script to keep memory free throws away what the kernel keeps of files, again and again: everybody reads all of it from the disk."""
from resources import CHILDREN, CPU, LOCKS, READING, SWITCHING, WRITING

GROUP = "memory"
RESOURCE = "memory"
FEATURES = CHILDREN | CPU | LOCKS | READING | SWITCHING | WRITING
CAUSES = {"kernel-work", "cpu", "cpu-group", "cache-thrash", "synced-writes", "disk-write", "many-starts", "children"}


def inject(stage, chance):
    pause = chance.choice((0.05, 0.3))
    return [stage.start("sh", "-c", f"while :; do sync; echo 3 >/proc/sys/vm/drop_caches; sleep {pause}; done", name="cleaner")]
