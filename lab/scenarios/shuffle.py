"""The lines of a big text are shuffled (shuf), which has to be in memory for that: there is less of it than that for its control group."""
import life
from resources import MEMORY
from stage import SHORT

GROUP = "memory"
RESOURCE = "memory"
FEATURES = MEMORY
CAUSE = "group-memory-limit"
TOLERABLE = {"memory-growth", "swapping"}
NEEDS = ("shuf",)
PRESS = (8, 15)
ROOM = 200  # megabytes in addition to the database


def prepare(stage, chance):
    life.make_memory_short(stage, chance, ROOM)


def inject(stage, chance):
    lines = chance.choice((15, 25)) * 1000000
    return [stage.start("sh", "-c", f"while :; do seq {lines} | shuf >/dev/null; done", name="sampling", group=SHORT)]


def restore(stage):
    life.give_memory_back(stage)
