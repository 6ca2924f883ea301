"""Rows go into an SQLite database one by one, each in a transaction of its own that is synced to the disk."""
from resources import CPU, SWITCHING, WRITING

GROUP = "disk"
RESOURCE = "io"
FEATURES = WRITING | CPU | SWITCHING
CAUSE = "synced-writes"
TOLERABLE = {"disk-write"}
NEEDS = ("sqlite3",)


def inject(stage, chance):
    at_once = chance.choice((2, 4))
    rows = "yes \"INSERT INTO t VALUES('a reading of a sensor');\""
    one = f"(echo 'CREATE TABLE t(v);'; {rows}) | sqlite3 {stage.work}/rows-$i.db"
    return [stage.start("sh", "-c", f"rm -f {stage.work}/rows-*.db; for i in $(seq {at_once}); do ({one}) & done; wait", name="importer")]


def restore(stage):
    for path in stage.work.glob("rows-*.db*"):
        path.unlink()
