"""A user sends the database a query that takes long: the server works for it, in addition to its normal work."""
import life
from resources import CPU, MEMORY, READING, SWITCHING, WRITING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | READING | WRITING | MEMORY | SWITCHING | {"mem.shmem", "mem.file"}
CAUSE = "database-upkeep"
TOLERABLE = {"cpu", "cpu-group", "disk-read", "disk-write", "written-faster-than-disk"}
NEEDS = ("postgres", "pgbench", "psql")
QUESTIONS = ("SELECT sum(sqrt(a.aid * b.bid)) FROM pgbench_accounts a, pgbench_branches b",
             "SELECT count(*) FROM (SELECT * FROM pgbench_accounts ORDER BY random()) shuffled")


def inject(stage, chance):
    return [stage.actor("postgres"), life.keep_asking_postgres(stage, chance.choice(QUESTIONS), "analyst")]


def restore(stage):
    life.end_questions(stage, "sqrt|random")
