"""A backup runs as always; in addition a user starts the same program again, without its bound."""
import life
from resources import CPU, READING

GROUP = "disk"
RESOURCE = "io"
FEATURES = CPU | READING
CAUSE = "disk-read"
TOLERABLE = {"backup", "cpu", "cpu-group", "disk-shared", "kernel-work"}


def inject(stage, chance):
    return [stage.start("stream", "read", stage.work / "archive", life.ARCHIVE // life.MEBIBYTE, 0, chance.choice((4, 16)), name="backup")]
