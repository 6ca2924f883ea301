"""MariaDB: a table is to be changed, and waits for a transaction that once read it and is left open; who only reads the table waits behind the change."""
from hangstage import MARIADB_CLIENT, MARIADB_HOLDER

NEEDS = ("mariadbd", "mariadb", "mariadb-install-db")
VICTIM = "mariadb"  # the client keeps one
WAITS = {"lock", "peer"}


def prepare(stage):
    stage.start_mariadb("club")
    stage.finish(*stage.ask_mariadb("club"), "-e", "CREATE DATABASE club; CREATE TABLE club.members(n INT) ENGINE = InnoDB")
    stage.start("member-count", MARIADB_CLIENT, "SELECT COUNT(*) FROM members", *stage.ask_mariadb("club"), "club")


def inject(stage):
    reader = stage.start("left-open", MARIADB_HOLDER, "BEGIN; SELECT * FROM members", *stage.ask_mariadb("club"), "club")
    stage.rest(0.5)
    return [reader, stage.start("new-version", MARIADB_HOLDER, "ALTER TABLE members ADD COLUMN name TEXT", *stage.ask_mariadb("club"), "club")]
