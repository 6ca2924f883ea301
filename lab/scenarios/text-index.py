"""Texts are put into a search index of a file database (sqlite3), several at a time."""
from resources import CPU, MEMORY, READING, WRITING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | MEMORY | READING | WRITING
CAUSE = "cpu"
TOLERABLE = {"cpu-group"}
NEEDS = ("sqlite3",)


ROWS = "CREATE VIRTUAL TABLE t USING fts5(v); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 300000) INSERT INTO t SELECT hex(randomblob(4)) || char(32) || hex(randomblob(3)) || char(32) || i FROM n"


def inject(stage, chance):
    return [stage.start("sh", "-c", f"for i in $(seq {chance.choice((3, 4))}); do (while :; do sqlite3 :memory: '{ROWS}'; done) & done; wait", name="search-index")]
