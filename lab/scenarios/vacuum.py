"""The database is vacuumed, all of it: its server works beside its usual work."""
import life
from resources import CPU, READING, WRITING

GROUP = "real"
RESOURCE = "io"
FEATURES = CPU | READING | WRITING | {"mem.shmem", "mem.file"}
CAUSE = "database-upkeep"
TOLERABLE = set()
NEEDS = ("postgres", "pgbench", "psql")


def inject(stage, chance):
    return [stage.actor("postgres"),
            life.keep_asking_postgres(stage, f"VACUUM {chance.choice(('FULL', 'FREEZE'))} pgbench_accounts", "psql")]


def restore(stage):
    life.end_questions(stage, "^VACUUM")
