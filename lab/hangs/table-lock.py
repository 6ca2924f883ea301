"""A session of PostgreSQL has locked a table and waits for its user; another one, always connected, reads that table."""
NEEDS = ("postgres", "initdb", "psql")
VICTIM = "psql"  # the client keeps one
WAITS = {"lock", "peer"}
CLIENT = """import subprocess, sys, timed
psql = subprocess.Popen([*sys.argv[1:], "-qAt"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
def ask():
    psql.stdin.write("SELECT count(*) FROM prices;\\n")
    psql.stdout.readline()
timed.repeat(ask)
"""
HOLDER = """import subprocess, sys, time
psql = subprocess.Popen([*sys.argv[1:], "-q"], stdin=subprocess.PIPE, text=True, bufsize=1)
psql.stdin.write("BEGIN; LOCK TABLE prices;\\n")
time.sleep(1000)
"""


def prepare(stage):
    data = stage.make_postgres("price-database")
    stage.run("postgres", "-D", data, "-c", "listen_addresses=", "-k", data, name="price-database", user="postgres")
    stage.rest(3)
    ask = (stage.find("psql"), "-h", data, "-U", "postgres")
    stage.finish(*ask, "-c", "CREATE TABLE prices(n int)")
    stage.start("price-list", CLIENT, *ask)


def inject(stage):
    return [stage.start("maintenance", HOLDER, stage.find("psql"), "-h", stage.folder / "price-database", "-U", "postgres")]
