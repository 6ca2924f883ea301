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
SETTINGS = "--innodb-lock-wait-timeout=1000", "--skip-networking", "--innodb-buffer-pool-size=16M", "--user=root"


def prepare(stage):
    data = stage.folder / "mariadb"
    stage.finish("mariadb-install-db", "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal", "--user=root")
    stage.run("mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={data}/socket", *SETTINGS, name="mariadbd")
    stage.rest(4)
    ask = (stage.find("mariadb"), "--no-defaults", f"--socket={data}/socket", "-u", "root")
    stage.finish(*ask, "-e", "CREATE DATABASE hall; CREATE TABLE hall.seats(n INT) ENGINE = InnoDB; INSERT INTO hall.seats VALUES (0)")
    stage.start("ticket-office", CLIENT, *ask, "hall")


def inject(stage):
    data = stage.folder / "mariadb"
    return [stage.run("mariadb", "--no-defaults", f"--socket={data}/socket", "-u", "root", "hall", "-e",
                      "BEGIN; UPDATE seats SET n = 0; SELECT SLEEP(1000)", name="seat-plan")]
