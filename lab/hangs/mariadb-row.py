"""A transaction of MariaDB has changed a row and does not end: a session that changes the same row waits inside the server."""
from hangstage import MARIADB_CLIENT

NEEDS = ("mariadbd", "mariadb", "mariadb-install-db")
VICTIM = "mariadb"  # the client keeps one
WAITS = {"lock", "peer"}


def prepare(stage):
    stage.start_mariadb("theatre")
    stage.finish(*stage.ask_mariadb("theatre"), "-e", "CREATE DATABASE hall; CREATE TABLE hall.seats(n INT) ENGINE = InnoDB; INSERT INTO hall.seats VALUES (0)")
    stage.start("ticket-office", MARIADB_CLIENT, "UPDATE seats SET n = n + 1; SELECT 1", *stage.ask_mariadb("theatre"), "hall")


def inject(stage):
    return [stage.run(*stage.ask_mariadb("theatre"), "hall", "-e", "BEGIN; UPDATE seats SET n = 0; SELECT SLEEP(1000)", name="seat-plan")]
