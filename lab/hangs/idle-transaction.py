"""A program has changed a row of PostgreSQL and thinks before it ends its transaction: who changes the same row waits."""
NEEDS = ("postgres", "initdb", "psql")
VICTIM = "psql"  # the client keeps one
WAITS = {"lock", "peer"}
CLIENT = """import subprocess, sys, timed
session = subprocess.Popen([*sys.argv[1:], "-q", "-A", "-t"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
def ask():
    session.stdin.write("UPDATE places SET n = n + 1; SELECT 1;\\n")
    session.stdout.readline()
timed.repeat(ask)
"""
HOLDER = """import subprocess, sys, time
session = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, bufsize=1)
session.stdin.write("BEGIN; UPDATE places SET n = 0;\\n")
time.sleep(1000)
"""


def prepare(stage):
    data = stage.make_postgres("cinema")
    stage.run("postgres", "-D", data, "-c", "listen_addresses=", "-k", data, name="cinema-postgres", user="postgres")
    stage.rest(3)
    ask = (stage.find("psql"), "-h", data, "-U", "postgres")
    stage.finish(*ask, "-c", "CREATE TABLE places(n int); INSERT INTO places VALUES (0)")
    stage.start("cinema", CLIENT, *ask)


def inject(stage):
    return [stage.start("seat-editor", HOLDER, stage.find("psql"), "-h", stage.folder / "cinema", "-U", "postgres")]
