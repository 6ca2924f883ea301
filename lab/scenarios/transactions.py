"""A program commits each line it writes to its database, one after the other."""
import shutil

from resources import CPU, WRITING

GROUP = "real"
RESOURCE = "io"
FEATURES = CPU | WRITING
CAUSE = "synced-writes"
TOLERABLE = {"cpu", "cpu-group", "disk-write"}
NEEDS = ("sqlite3",)


def inject(stage, chance):
    folder = stage.work / "transactions"
    folder.mkdir(exist_ok=True)
    line = f"INSERT INTO orders (note) VALUES (hex(randomblob({chance.choice((100, 2000))})));\n"
    begin = "PRAGMA synchronous=FULL;\nCREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, note TEXT);\n"
    (folder / "orders.sql").write_text(begin + line * 100000)
    return [stage.start("sh", "-c", f"while :; do sqlite3 {folder}/orders.db '.read {folder}/orders.sql'; done", name="till")]


def restore(stage):
    shutil.rmtree(stage.work / "transactions", ignore_errors=True)
