"""MariaDB: a table is to be changed, and waits for a transaction that once read it and is left open; who only reads the table waits behind the change."""
NEEDS = ("mariadbd", "mariadb", "mariadb-install-db")
VICTIM = "mariadb"  # the client keeps one
WAITS = {"lock", "peer"}
CLIENT = """import subprocess, sys, timed
session = subprocess.Popen([*sys.argv[1:], "-N", "-n"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
def ask():
    session.stdin.write("SELECT COUNT(*) FROM members;\\n")
    session.stdout.readline()
timed.repeat(ask)
"""
SESSION = """import subprocess, sys, time
session = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, bufsize=1)
session.stdin.write(sys.argv[1] + ";\\n")
time.sleep(1000)
"""


def prepare(stage):
    stage.start_mariadb("club")
    stage.finish(*stage.ask_mariadb("club"), "-e", "CREATE DATABASE club; CREATE TABLE club.members(n INT) ENGINE = InnoDB")
    stage.start("member-count", CLIENT, *stage.ask_mariadb("club"), "club")


def inject(stage):
    reader = stage.start("left-open", SESSION, "BEGIN; SELECT * FROM members", *stage.ask_mariadb("club"), "club")
    stage.rest(0.5)
    return [reader, stage.start("new-version", SESSION, "ALTER TABLE members ADD COLUMN name TEXT", *stage.ask_mariadb("club"), "club")]
