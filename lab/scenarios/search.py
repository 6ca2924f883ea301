"""A user searches all files for a word, or computes their checksums."""
from resources import CPU, READING, SWITCHING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | READING | SWITCHING | {"tasks.forks", "children.cpu", "children.short"}
CAUSE = "cpu"
TOLERABLE = {"cpu-group", "disk-read", "file-index", "kernel-work", "many-small-reads"}


def inject(stage, chance):
    command = chance.choice(("grep -r -a no-such-word-anywhere /usr/lib /usr/share",
                             "find /usr -xdev -type f -exec sha256sum {} +",
                             "echo 1 >/proc/sys/vm/drop_caches; find /usr -xdev -type f -print0 | xargs -0 -P 2 -n 50 md5sum"))
    return [stage.start("sh", "-c", f"while :; do {command}; done", name="audit")]
