"""A user locks a table of the database and keeps the lock: programs that use the table wait, and nothing computes."""
import life
from resources import CHILDREN, CPU, LOCKS, SWITCHING

GROUP = "real"
RESOURCE = "delay"
FEATURES = CPU | CHILDREN | LOCKS | SWITCHING | {"wait.peer", "wait.network"}
CAUSE = "waits-inside"
TOLERABLE = set()
NEEDS = ("postgres", "pgbench", "psql")


def inject(stage, chance):
    closing = f"BEGIN; LOCK TABLE pgbench_branches; SELECT pg_sleep({chance.choice((0.4, 1.2))}); COMMIT"
    return [stage.actor("postgres"), life.keep_asking_postgres(stage, closing, "closing")]


def restore(stage):
    life.end_questions(stage, "LOCK TABLE")
