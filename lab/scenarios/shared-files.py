"""Files pile up in memory (a tmpfs) until the control group of those who write them has no room left."""
import shutil

import life
from resources import CPU, MEMORY, WRITING
from stage import SHORT

GROUP = "memory"
RESOURCE = "memory"
FEATURES = MEMORY | WRITING | {"mem.shmem"} | CPU
CAUSE = "shared-memory"
TOLERABLE = {"group-memory-limit", "memory-growth", "memory-short", "swapping"}
PRESS = (8, 15)
FOLDER = "/dev/shm/whyslow-lab"


def prepare(stage, chance):
    life.make_memory_short(stage, chance, 320)


def inject(stage, chance):
    piece = chance.choice((8, 32))
    fill = (f"mkdir -p {FOLDER}; n=0; while [ $n -lt 1200 ]; do head -c {piece}M /dev/zero >{FOLDER}/$n; n=$((n+{piece})); sleep {piece / 80}; done; "
            f"while :; do cat {FOLDER}/* >/dev/null; done")
    return [stage.start("sh", "-c", fill, name="scratch", group=SHORT)]


def restore(stage):
    shutil.rmtree(FOLDER, ignore_errors=True)
    life.give_memory_back(stage)
