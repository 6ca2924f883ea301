"""A user switches swapping off: all that was swapped out is read back, at once and page by page."""
import life
from resources import CPU, MEMORY, READING

GROUP = "memory"
RESOURCE = "memory"
FEATURES = CPU | MEMORY | READING
CAUSE = "swapping"
TOLERABLE = {"cpu", "disk-read", "kernel-work", "many-small-reads", "memory-short"}
NEEDS = ("swapoff",)
PREPARES = 8
PRESS = (2, 3)


def prepare(stage, chance):
    stage.use_swap(2048 * life.MEBIBYTE)
    stage.groups.set_memory(chance.choice((200, 400)) * life.MEBIBYTE)
    stage.watch(2)
    stage.groups.set_memory(None)  # what was put out comes back when it is needed


def inject(stage, chance):
    return [stage.start("swapoff", stage.undo["swap"])]


def restore(stage):
    life.give_memory_back(stage)
