"""A dump of a database is read into a second one, again and again (pg_dump, psql)."""
import life
from resources import CPU, READING, SWITCHING, WRITING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | READING | WRITING | SWITCHING
CAUSE = "cpu-group"
TOLERABLE = {"backup", "cpu", "database-upkeep", "disk-write", "written-faster-than-disk"}
NEEDS = ("postgres", "pg_dump", "psql", "dropdb")


def inject(stage, chance):
    at = f"-h {stage.work}/postgres -U postgres"
    tables = chance.choice(("-t pgbench_accounts", ""))
    once = f"createdb {at} copy; pg_dump {at} {tables} bench | psql -q {at} copy >/dev/null; dropdb {at} --force copy"
    return [stage.start("sh", "-c", f"while :; do {once}; done", name="migration", user="postgres", folder=stage.work / "postgres"),
            stage.actor("postgres")]


def restore(stage):
    life.run_quietly("dropdb", "-h", stage.work / "postgres", "-U", "postgres", "--force", "copy")
