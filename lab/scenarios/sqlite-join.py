"""A question to a file database joins a table with itself without an index (sqlite3)."""
from resources import CPU

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU
CAUSE = "cpu"
TOLERABLE = {"cpu-group", "database-upkeep"}
NEEDS = ("sqlite3",)
QUESTION = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000) SELECT count(*) FROM n a, n b WHERE a.i * 7 % 1000 = b.i % 997"


def inject(stage, chance):
    at_once = chance.choice((2, 3))
    return [stage.start("sh", "-c", f"for i in $(seq {at_once}); do (while :; do sqlite3 :memory: '{QUESTION}'; done) & done; wait", name="report-query")]
