"""A backup keeps all tables of MariaDB locked for reading and does nothing: who writes waits inside the server."""
NEEDS = ("mariadbd", "mariadb", "mariadb-install-db")
VICTIM = "mariadb"  # the client keeps one
WAITS = {"lock", "peer"}
CLIENT = """import subprocess, sys, timed
session = subprocess.Popen([*sys.argv[1:], "-N", "-n"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
def ask():
    session.stdin.write("INSERT INTO sales VALUES (1); SELECT 1;\\n")
    session.stdout.readline()
timed.repeat(ask)
"""
HOLDER = """import subprocess, sys, time
session = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, bufsize=1)
session.stdin.write("FLUSH TABLES WITH READ LOCK;\\n")
time.sleep(1000)
"""


def prepare(stage):
    stage.start_mariadb("shop")
    stage.finish(*stage.ask_mariadb("shop"), "-e", "CREATE DATABASE shop; CREATE TABLE shop.sales(n INT) ENGINE = InnoDB")
    stage.start("cash-desk", CLIENT, *stage.ask_mariadb("shop"), "shop")


def inject(stage):
    return [stage.start("night-backup", HOLDER, *stage.ask_mariadb("shop"), "shop")]
