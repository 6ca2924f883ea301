"""A transaction of MariaDB has changed a row and does not end: a session that changes the same row waits inside the server."""
NEEDS = ("mariadbd", "mariadb", "mariadb-install-db")
VICTIM = "mariadb"  # the client keeps one
WAITS = {"lock", "peer"}
CLIENT = """import subprocess, sys, timed
session = subprocess.Popen([*sys.argv[1:], "-N", "-n"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
def ask():
    session.stdin.write("UPDATE seats SET n = n + 1; SELECT 1;\\n")
    session.stdout.readline()
timed.repeat(ask)
"""


def prepare(stage):
    stage.start_mariadb("theatre")
    stage.finish(*stage.ask_mariadb("theatre"), "-e", "CREATE DATABASE hall; CREATE TABLE hall.seats(n INT) ENGINE = InnoDB; INSERT INTO hall.seats VALUES (0)")
    stage.start("ticket-office", CLIENT, *stage.ask_mariadb("theatre"), "hall")


def inject(stage):
    return [stage.run(*stage.ask_mariadb("theatre"), "hall", "-e", "BEGIN; UPDATE seats SET n = 0; SELECT SLEEP(1000)", name="seat-plan")]
