"""A user reads a table and leaves the transaction open; a change of the table waits for it, and all others wait for the change."""
import life
from resources import CPU, CHILDREN, LOCKS, SWITCHING

GROUP = "real"
RESOURCE = "delay"
FEATURES = CPU | CHILDREN | LOCKS | SWITCHING | {"wait.peer", "wait.network"}
CAUSE = "waits-inside"
TOLERABLE = {"no-answer"}
NEEDS = ("postgres", "pgbench", "psql")
LOOKING = "BEGIN; SELECT count(*) FROM pgbench_branches; SELECT pg_sleep(300); COMMIT"
CHANGE = "BEGIN; ALTER TABLE pgbench_branches ADD COLUMN note text; ROLLBACK"


def inject(stage, chance):
    looking = life.keep_asking_postgres(stage, LOOKING, "report")
    stage.watch(chance.uniform(0.5, 1))
    return [stage.actor("postgres"), looking, life.keep_asking_postgres(stage, CHANGE, "migration")]


def restore(stage):
    life.end_questions(stage, "pg_sleep|ALTER TABLE")
