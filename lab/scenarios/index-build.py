"""An index of the database is made, dropped, and made again."""
import life
from resources import CPU, MEMORY, READING, WRITING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | READING | WRITING | MEMORY | {"mem.shmem", "mem.file"}
CAUSE = "database-upkeep"
TOLERABLE = {"cpu", "cpu-group", "no-answer", "waits-inside"}  # who updates the table waits for the lock
NEEDS = ("postgres", "psql")


def inject(stage, chance):
    workers, column = chance.choice((0, 2)), chance.choice(("abalance", "md5(filler)"))
    question = f"SET max_parallel_maintenance_workers = {workers}; CREATE INDEX lab ON pgbench_accounts(({column})); DROP INDEX lab"
    return [stage.actor("postgres"), life.keep_asking_postgres(stage, question, "migration")]


def restore(stage):
    life.end_questions(stage, "INDEX lab")
