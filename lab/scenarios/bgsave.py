"""The cache server writes all its data to the disk, again and again, because it was configured so."""
import os
import signal

import life
from resources import CPU, FAULTS, MEMORY, WRITING
from stage import read_children

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | WRITING | FAULTS | MEMORY | {"delay.cow"}
CAUSE = "database-upkeep"
TOLERABLE = set()
NEEDS = ("redis-server",)


def inject(stage, chance):
    ask = f"redis-cli -s {life.redis_socket(stage)} BGSAVE; sleep 0.2"
    return [stage.actor("redis"), stage.start("sh", "-c", f"while :; do {ask}; done", name="saving")]


def restore(stage):
    """Its last child would go on writing."""
    for pid in read_children().get(stage.actor("redis").process.pid, []):
        os.kill(pid, signal.SIGKILL)
