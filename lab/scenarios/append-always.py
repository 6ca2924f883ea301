"""A user sets the cache server to write each change to the disk before it answers, and then fills it: other programs that ask it wait for the disk."""
import shutil

import life
from resources import CPU, FAULTS, NETWORK, SWITCHING, WRITING
from stage import run_quietly

GROUP = "real"
RESOURCE = "io"
FEATURES = CPU | FAULTS | NETWORK | SWITCHING | WRITING
CAUSE = "synced-writes"
TOLERABLE = {"cpu", "cpu-group", "database-upkeep", "disk-write", "kernel-work", "network-busy"}
NEEDS = ("redis-server", "redis-benchmark")


def inject(stage, chance):
    ask = f"redis-cli -s {life.redis_socket(stage)} CONFIG SET"
    fill = f"exec redis-benchmark -s {life.redis_socket(stage)} -t set -d 500 -c {chance.choice((4, 20))} -n 100000000 -r 100000 -q"
    return [stage.actor("redis"), stage.start("sh", "-c", f"{ask} appendfsync always; {ask} appendonly yes; {fill}", name="import")]


def restore(stage):
    for setting in (("appendonly", "no"), ("appendfsync", "everysec")):
        run_quietly("redis-cli", "-s", life.redis_socket(stage), "CONFIG", "SET", *setting)
    shutil.rmtree(stage.work / "redis/appendonlydir", ignore_errors=True)
