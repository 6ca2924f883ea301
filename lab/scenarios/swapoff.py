"""A user switches swapping off: all that was swapped out is read back, at once and page by page."""
import life
from resources import CPU, MEMORY, READING
from stage import SHORT

GROUP = "memory"
RESOURCE = "memory"
FEATURES = CPU | MEMORY | READING
CAUSE = "swapping"
TOLERABLE = {"cpu", "disk-read", "kernel-work", "many-small-reads", "memory-short"}
NEEDS = ("swapoff",)
RESTS = 800  # megabytes of a program that rests: these are put out
SETTLES = 20  # seconds until the others have theirs back
PREPARES = SETTLES + 12
PRESS = (2, 3)


def prepare(stage, chance):
    stage.use_swap(2048 * life.MEBIBYTE)
    stage.start("python3", "-c", f"import time; x = b'x' * ({RESTS} << 20); time.sleep(1000)", name="resting", group=SHORT)
    stage.watch(4)
    stage.groups.set_memory((life.database_size() + chance.choice((100, 300))) * life.MEBIBYTE)
    stage.watch(3)
    stage.groups.set_memory(None)
    stage.watch(SETTLES)


def inject(stage, chance):
    return [stage.start("swapoff", stage.undo["swap"])]


def restore(stage):
    life.give_memory_back(stage)
