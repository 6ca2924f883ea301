"""A script puts rows into MariaDB one by one: each is a transaction of its own, which the server syncs to the disk."""
from resources import CPU, SWITCHING, WRITING

GROUP = "real"
RESOURCE = "io"
FEATURES = WRITING | CPU | SWITCHING
CAUSE = "synced-writes"
TOLERABLE = {"disk-write", "database-upkeep"}
NEEDS = ("mariadbd", "mariadb", "mariadb-install-db")


def make(stage):
    data = stage.work / "mariadb"
    if not (data / "mysql").exists():
        stage.finish("mariadb-install-db", "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal", "--user=root")


def prepare(stage, chance):
    data = stage.work / "mariadb"
    stage.start("mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={data}/socket", "--skip-networking", "--user=root", name="mariadb")
    stage.watch(3)


def inject(stage, chance):
    ask = f"mariadb --no-defaults --socket={stage.work}/mariadb/socket -u root"
    rows = f"yes 'INSERT INTO test.readings VALUES (1);' | {ask}"
    return [stage.start("sh", "-c", f"{ask} -e 'CREATE DATABASE IF NOT EXISTS test; CREATE OR REPLACE TABLE test.readings(v INT) ENGINE = InnoDB'; "
                        f"for i in $(seq {chance.choice((2, 6))}); do ({rows}) & done; wait", name="importer"),
            stage.actor("mariadb")]
