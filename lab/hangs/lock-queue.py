"""A report has read a table of PostgreSQL and does not end its transaction, a change of the table waits for it, and who reads the table waits behind that."""
NEEDS = ("postgres", "initdb", "psql")
VICTIM = "psql"  # the client keeps one
WAITS = {"lock", "peer"}
CLIENT = """import subprocess, sys, timed
psql = subprocess.Popen([*sys.argv[1:], "-qAt"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
def ask():
    psql.stdin.write("SELECT count(*) FROM members;\\n")
    psql.stdout.readline()
timed.repeat(ask)
"""
READER = """import subprocess, sys, time
psql = subprocess.Popen([*sys.argv[1:], "-q"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, bufsize=1)
psql.stdin.write("BEGIN; SELECT count(*) FROM members;\\n")
time.sleep(1000)
"""


def ask(stage):
    return stage.find("psql"), "-h", stage.folder / "club-database", "-U", "postgres"


def prepare(stage):
    data = stage.make_postgres("club-database")
    stage.run("postgres", "-D", data, "-c", "listen_addresses=", "-k", data, name="club-database", user="postgres")
    stage.rest(3)
    stage.finish(*ask(stage), "-c", "CREATE TABLE members(n int)")
    stage.start("member-list", CLIENT, *ask(stage))


def inject(stage):
    reader = stage.start("club-report", READER, *ask(stage))
    stage.rest(1)
    stage.run(*ask(stage), "-c", "ALTER TABLE members ADD COLUMN name text", name="migration")
    return [reader]
