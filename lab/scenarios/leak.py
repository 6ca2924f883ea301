"""A program leaks a few megabytes a second, until there is no room left in its control group."""
import life
from resources import MEMORY
from stage import SHORT

GROUP = "memory"
RESOURCE = "memory"
FEATURES = MEMORY
CAUSE = "group-memory-limit"
TOLERABLE = {"memory-growth", "swapping"}
PRESS = (12, 20)
ROOM = 60


def prepare(stage, chance):
    stage.use_swap(1024 * life.MEBIBYTE, compressed=chance.random() < 0.5)
    stage.groups.set_memory((life.database_size() + ROOM) * life.MEBIBYTE)


def inject(stage, chance):
    return [stage.start("grow", 10, 1200, name="leaky", group=SHORT)]


def restore(stage):
    stage.groups.set_memory(None)
    stage.drop_swap()
