"""Two programs grow in the same control group until it has to reclaim and swap: either of them is the culprit."""
import life
from resources import MEMORY
from stage import SHORT

GROUP = "memory"
RESOURCE = "memory"
FEATURES = MEMORY
CAUSE = "group-memory-limit"
TOLERABLE = {"memory-growth", "swapping"}
PRESS = (9, 15)


def prepare(stage, chance):
    life.make_memory_short(stage, chance, 320)


def inject(stage, chance):
    return [stage.start("grow", rate, 900, name=name, group=SHORT) for name, rate in (("cache-builder", chance.choice((20, 40))), ("importer", 40))]


def restore(stage):
    life.give_memory_back(stage)
