"""A script puts rows into MariaDB one by one: each is a transaction of its own, which the server syncs to the disk."""
import life
from resources import CPU, SWITCHING, WRITING

GROUP = "real"
RESOURCE = "io"
FEATURES = WRITING | CPU | SWITCHING
CAUSE = "synced-writes"
TOLERABLE = {"disk-write", "database-upkeep"}
NEEDS = ("mariadbd", "mariadb", "mariadb-install-db")


def make(stage):
    life.make_mariadb(stage)


def prepare(stage, chance):
    life.start_mariadb(stage)


def inject(stage, chance):
    ask = life.ask_mariadb(stage)
    rows = f"yes 'INSERT INTO test.readings VALUES (1);' | {ask}"
    return [stage.start("sh", "-c", f"{ask} -e 'CREATE DATABASE IF NOT EXISTS test; CREATE OR REPLACE TABLE test.readings(v INT) ENGINE = InnoDB'; "
                        f"for i in $(seq {chance.choice((2, 6))}); do ({rows}) & done; wait", name="importer"),
            stage.actor("mariadb")]
