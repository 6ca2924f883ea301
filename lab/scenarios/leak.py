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
    life.make_memory_short(stage, chance, ROOM)


def inject(stage, chance):
    return [stage.start("grow", 10, 1200, name="leaky", group=SHORT)]


def restore(stage):
    life.give_memory_back(stage)
