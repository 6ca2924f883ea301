"""A program takes more and more memory, until its control group reclaims and swaps."""
import life
from stage import SHORT

GROUP = "six"
FEATURES = {"mem.anon", "mem.swap", "mem.data", "mem.virtual", "mem.page_tables", "faults.minor", "faults.major",
            "delay.swapin", "delay.reclaim"}
SLOW_AFTER = 9
ROOM = 320  # megabytes beside the database


def prepare(stage):
    stage.use_swap(1024 * life.MEBIBYTE)
    stage.groups.set_memory((life.database_size() + ROOM) * life.MEBIBYTE)


def inject(stage):
    return [stage.start("grow", 60, 1200, group=SHORT)]


def restore(stage):
    stage.groups.set_memory(-1 if stage.groups.limit.name == "memory.limit_in_bytes" else "max")
