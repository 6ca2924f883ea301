"""The database is vacuumed, all of it: its server works beside its usual work."""
from resources import CPU, READING, WRITING
from stage import run_quietly

GROUP = "real"
RESOURCE = "io"
FEATURES = CPU | READING | WRITING | {"mem.shmem", "mem.file"}
CAUSES = {"database-upkeep"}
NEEDS = ("postgres", "pgbench", "psql")


def inject(stage, chance):
    ask = f"psql -h {stage.work}/postgres -U postgres -c 'VACUUM {chance.choice(('FULL', 'FREEZE'))} pgbench_accounts' bench"
    return [stage.actor("postgres"), stage.start("sh", "-c", f"while :; do {ask}; done", name="psql", user="postgres",
                                                 folder=stage.work / "postgres")]


def restore(stage):
    """The server would go on with it for nobody."""
    run_quietly("psql", "-h", stage.work / "postgres", "-U", "postgres", "-c",
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'VACUUM%'", "bench")
