"""Somebody asks the database something that takes long: the server works for him, beside its usual work."""
from resources import CPU, MEMORY, READING, SWITCHING, WRITING
from stage import run_quietly

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | READING | WRITING | MEMORY | SWITCHING | {"mem.shmem", "mem.file"}
CAUSES = {"cpu", "cpu-group", "disk-read", "disk-write", "written-faster-than-disk", "database-upkeep"}
NEEDS = ("postgres", "pgbench", "psql")
QUESTIONS = ("SELECT sum(sqrt(a.aid * b.bid)) FROM pgbench_accounts a, pgbench_branches b",
             "SELECT count(*) FROM (SELECT * FROM pgbench_accounts ORDER BY random()) shuffled")


def inject(stage, chance):
    ask = f'psql -h {stage.work}/postgres -U postgres -c "{chance.choice(QUESTIONS)}" bench'
    return [stage.actor("postgres"), stage.start("sh", "-c", f"while :; do {ask}; done", name="analyst", user="postgres",
                                                 folder=stage.work / "postgres")]


def restore(stage):
    """The server would go on with it for nobody."""
    run_quietly("psql", "-h", stage.work / "postgres", "-U", "postgres", "-c",
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ~ 'sqrt|random' AND pid <> pg_backend_pid()", "bench")
