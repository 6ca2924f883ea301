"""A file database is written anew again and again to make it smaller (VACUUM)."""
from resources import CPU, READING, WRITING

GROUP = "disk"
RESOURCE = "io"
FEATURES = WRITING | READING | CPU
CAUSE = "disk-write"
TOLERABLE = {"written-faster-than-disk", "synced-writes", "disk-read", "database-upkeep"}
NEEDS = ("sqlite3",)
ROWS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {rows}) INSERT INTO t SELECT i, randomblob(3000) FROM n"


def make(stage):
    path = stage.work / "photos.db"
    if not path.exists():
        stage.finish("sqlite3", path.with_suffix(".new"), f"CREATE TABLE t(i INTEGER, v BLOB); {ROWS.format(rows=150000)};")
        path.with_suffix(".new").rename(path)


def inject(stage, chance):
    temporary = chance.choice(("FILE", "MEMORY"))
    return [stage.start("sh", "-c", f"while :; do SQLITE_TMPDIR={stage.work} sqlite3 {stage.work}/photos.db 'PRAGMA temp_store = {temporary}; VACUUM'; done",
                        name="tidy-up")]
