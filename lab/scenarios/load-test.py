"""A user measures how much the database can do, with the same program that asks it a little all the time."""
from resources import CPU, NETWORK, SWITCHING, WRITING

GROUP = "real"
RESOURCE = {"load-test": "cpu", "load-test-writing": "io"}
FEATURES = CPU | NETWORK | SWITCHING | WRITING | {"handles.sockets", "io.read_calls", "io.read_chars", "threads.count"}
CAUSE = {"load-test": "cpu", "load-test-writing": "synced-writes"}
TOLERABLE = {"cpu", "cpu-group", "database-upkeep", "disk-write", "kernel-work", "synced-writes"}
NEEDS = ("pgbench",)


def inject(stage, chance):
    name, how = chance.choice((("load-test", "-S"), ("load-test-writing", "-N")))
    return [stage.start("pgbench", "-h", stage.work / "postgres", "-U", "postgres", "-n", how, "-c", chance.choice((4, 8)), "-T", 1000000, "bench",
                        name=name, user="postgres", folder=stage.work / "postgres")]
