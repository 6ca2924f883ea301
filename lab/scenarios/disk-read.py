"""A program reads a big file in small pieces from the disk, past the cache, at little CPU."""
from resources import READING

GROUP = "six"
RESOURCE = "io"
FEATURES = READING
CAUSE = "disk-read"
TOLERABLE = {"many-small-reads"}


def inject(stage, chance):
    return [stage.start("dd", f"if={stage.work}/archive", "of=/dev/null", f"bs={chance.choice((4, 8, 16))}k", "iflag=direct")]
