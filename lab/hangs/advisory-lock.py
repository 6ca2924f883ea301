"""A session of PostgreSQL keeps an advisory lock and sleeps in a query; a job that takes that lock for each step waits."""
NEEDS = ("postgres", "initdb", "psql")
VICTIM = "psql"  # the client keeps one
WAITS = {"lock", "peer"}
CLIENT = """import subprocess, sys, timed
psql = subprocess.Popen([*sys.argv[1:], "-qAt"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
def ask():
    psql.stdin.write("SELECT pg_advisory_lock(7); SELECT pg_advisory_unlock(7);\\n")
    psql.stdout.readline()
    psql.stdout.readline()
timed.repeat(ask)
"""


def prepare(stage):
    data = stage.make_postgres("job-database")
    stage.run("postgres", "-D", data, "-c", "listen_addresses=", "-k", data, name="job-database", user="postgres")
    stage.rest(3)
    stage.start("job-runner", CLIENT, stage.find("psql"), "-h", data, "-U", "postgres")


def inject(stage):
    return [stage.run(stage.find("psql"), "-h", stage.folder / "job-database", "-U", "postgres", "-c",
                      "SELECT pg_advisory_lock(7), pg_sleep(1000)", name="migration")]
