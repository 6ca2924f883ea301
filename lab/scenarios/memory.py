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
    stage.use_swap(1024 * life.MEBIBYTE, compressed=chance.random() < 0.5)
    stage.groups.set_memory((life.database_size() + ROOM) * life.MEBIBYTE)


def inject(stage, chance):
    return [stage.start("grow", chance.choice((50, 70)), 1200, group=SHORT)]


def restore(stage):
    stage.groups.set_memory(None)
    stage.drop_swap()
