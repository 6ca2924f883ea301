"""A disk is searched for bad blocks, all of it (badblocks)."""
from resources import READING

GROUP = "tools"
RESOURCE = "io"
FEATURES = READING
CAUSE = "disk-read"
TOLERABLE = {"many-small-reads"}
NEEDS = ("badblocks",)


def inject(stage, chance):
    blocks = chance.choice((1, 16, 64))
    once = f"badblocks -b 4096 -c {blocks} {stage.work}/archive"
    return [stage.start("sh", "-c", f"while :; do {once}; done", name="disk-check")]
