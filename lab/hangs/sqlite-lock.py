"""A report keeps a transaction of an SQLite file open: who writes waits by sleeping and trying again."""
VICTIM = "order-writer"
WAITS = {"lock"}
WRITER = """import sqlite3, sys, timed
file = sqlite3.connect(sys.argv[1], timeout=1000, isolation_level=None)
file.execute("PRAGMA synchronous = OFF")
file.execute("CREATE TABLE IF NOT EXISTS orders(id INTEGER PRIMARY KEY, n)")
file.execute("INSERT OR REPLACE INTO orders VALUES(1, 0)")
timed.repeat(lambda: file.execute("UPDATE orders SET n = n + 1"))
"""
REPORT = """import sqlite3, sys, time
file = sqlite3.connect(sys.argv[1], timeout=1000, isolation_level=None)
file.execute("BEGIN EXCLUSIVE")
time.sleep(1000)
"""


def prepare(stage):
    stage.start("order-writer", WRITER, stage.folder / "orders.db")


def inject(stage):
    return [stage.start("report", REPORT, stage.folder / "orders.db")]
