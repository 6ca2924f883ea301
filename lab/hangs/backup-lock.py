"""A backup keeps all tables of MariaDB locked for reading and does nothing: who writes waits inside the server."""
from hangstage import MARIADB_CLIENT, MARIADB_HOLDER

NEEDS = ("mariadbd", "mariadb", "mariadb-install-db")
VICTIM = "mariadb"  # the client keeps one
WAITS = {"lock", "peer"}


def prepare(stage):
    stage.start_mariadb("shop")
    stage.finish(*stage.ask_mariadb("shop"), "-e", "CREATE DATABASE shop; CREATE TABLE shop.sales(n INT) ENGINE = InnoDB")
    stage.start("cash-desk", MARIADB_CLIENT, "INSERT INTO sales VALUES (1); SELECT 1", *stage.ask_mariadb("shop"), "shop")


def inject(stage):
    return [stage.start("night-backup", MARIADB_HOLDER, "FLUSH TABLES WITH READ LOCK", *stage.ask_mariadb("shop"), "shop")]
