"""A new version of a shop looks for orders by a column that has no index: each question reads the whole table."""
import life
from resources import CPU, MEMORY, READING, SWITCHING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | READING | MEMORY | SWITCHING | {"mem.shmem", "mem.file", "wait.network", "wait.peer"}
CAUSE = "database-upkeep"
TOLERABLE = {"cpu", "cpu-group", "disk-read"}
NEEDS = ("postgres", "pgbench", "psql")
LOOK = "\\set sought random(1, 1000000)\nSELECT count(*) FROM pgbench_accounts WHERE abalance = :sought;\n"


def inject(stage, chance):
    script = stage.work / "look.sql"
    script.write_text(LOOK)
    clients, rate = chance.choice(((4, 10), (8, 40)))
    return [stage.actor("postgres"),
            stage.start("pgbench", "-h", stage.work / "postgres", "-U", "postgres", "-n", "-c", clients, "-R", rate, "-T", 1000000, "-f",
                        script, "bench", name="orders", user="postgres", folder=stage.work / "postgres")]


def restore(stage):
    life.end_questions(stage, "abalance =")
