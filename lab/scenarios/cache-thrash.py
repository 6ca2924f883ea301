"""A program reads more through the page cache than its control group may keep, again and again."""
import life
from resources import MEMORY, READING
from stage import SHORT

GROUP = "memory"
RESOURCE = "memory"
FEATURES = MEMORY | READING | {"mem.file"}
CAUSE = "group-memory-limit"
TOLERABLE = {"cache-thrash", "memory-short"}
NEEDS = ("fio",)
ROOM = 200


def prepare(stage, chance):
    stage.groups.set_memory((life.database_size() + ROOM) * life.MEBIBYTE)


def inject(stage, chance):
    return [stage.start("fio", "--name=scan", f"--filename={stage.work}/archive", f"--rw={chance.choice(('read', 'randread'))}", "--bs=64k",
                        "--ioengine=mmap" if chance.random() < 0.5 else "--ioengine=psync", "--readonly", "--invalidate=0",
                        "--time_based", "--runtime=300", group=SHORT)]


def restore(stage):
    stage.groups.set_memory(None)
