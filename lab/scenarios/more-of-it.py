"""A program that is always there, and big, does several times what it usually does."""
from resources import CPU, READING, SWITCHING

GROUP = "cpu"
RESOURCE = "cpu"
FEATURES = CPU | SWITCHING | READING | {"threads.count"}
CAUSE = "cpu"
TOLERABLE = {"backup", "cpu-group", "disk-read"}


def inject(stage, chance):
    return [stage.start("burn", chance.choice((3, 5)), 100, name="renderer")]
