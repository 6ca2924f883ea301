"""A report puts all its rows into a database in memory (sqlite3), more than its control group may use, and adds them up again and again."""
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
TABLE = 800  # megabytes
ROWS = "CREATE TABLE t(i INTEGER, v BLOB); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {rows}) INSERT INTO t SELECT i, randomblob({size}) FROM n;"
SUMS = "WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k) SELECT (SELECT sum(unicode(v)) FROM t WHERE t.i > -k.i) FROM k"  # it depends on k, so each row is read again


def prepare(stage, chance):
    life.make_memory_short(stage, chance, ROOM)


def inject(stage, chance):
    size = chance.choice((1000, 20000))
    return [stage.start("sqlite3", ":memory:", ROWS.format(size=size, rows=TABLE * life.MEBIBYTE // size) + SUMS, group=SHORT, name="report")]


def restore(stage):
    life.give_memory_back(stage)
