"""Somebody tests how much the database can do, with the same program that asks it a little all the time."""
from resources import CPU, NETWORK, SWITCHING, WRITING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | NETWORK | SWITCHING | WRITING | {"handles.sockets", "io.read_calls", "io.read_chars", "threads.count"}
CAUSES = {"cpu", "cpu-group", "kernel-work", "synced-writes", "disk-write", "database-upkeep"}
NEEDS = ("pgbench",)


def inject(stage, chance):
    how = chance.choice((("-S",), ("-N",)))
    return [stage.start("pgbench", "-h", stage.work / "postgres", "-U", "postgres", "-n", *how, "-c", chance.choice((4, 8)), "-T", 1000000, "bench",
                        name="load-test", user="postgres", folder=stage.work / "postgres")]
