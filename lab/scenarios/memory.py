"""A program takes more and more memory, until its control group reclaims and swaps."""
import life
from resources import MEMORY
from stage import SHORT

GROUP = "six"
RESOURCE = "memory"
FEATURES = MEMORY
CAUSE = "group-memory-limit"
TOLERABLE = {"memory-growth", "swapping"}
PRESS = (8, 15)
ROOM = 320  # megabytes beside the database


def prepare(stage, chance):
    life.make_memory_short(stage, chance, ROOM)


def inject(stage, chance):
    return [stage.start("grow", chance.choice((50, 70)), 1200, group=SHORT)]


def restore(stage):
    life.give_memory_back(stage)
