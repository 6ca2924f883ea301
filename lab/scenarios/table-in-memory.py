"""A report puts all its rows into a database in memory (sqlite3), more than its control group may use."""
import life
from resources import MEMORY
from stage import SHORT

GROUP = "memory"
RESOURCE = "memory"
FEATURES = MEMORY
CAUSE = "group-memory-limit"
TOLERABLE = {"memory-growth", "swapping"}
NEEDS = ("sqlite3",)
PRESS = (8, 15)
ROOM = 320  # megabytes in addition to the database
ROWS = "CREATE TABLE t(i INTEGER, v BLOB); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) INSERT INTO t SELECT i, randomblob({size}) FROM n"


def prepare(stage, chance):
    stage.use_swap(1024 * life.MEBIBYTE, compressed=chance.random() < 0.5)
    stage.groups.set_memory((life.database_size() + ROOM) * life.MEBIBYTE)


def inject(stage, chance):
    rows = ROWS.format(size=chance.choice((1000, 20000)))
    return [stage.start("sqlite3", ":memory:", f"PRAGMA max_page_count = 300000; {rows}", group=SHORT, name="report")]


def restore(stage):
    stage.groups.set_memory(None)
    stage.drop_swap()
