"""A transaction of PostgreSQL has changed a row and does not end: who changes the same row waits."""
NEEDS = ("postgres", "initdb", "psql")
VICTIM = "psql"  # the client starts one for each request
WAITS = {"lock", "peer"}
CLIENT = """import subprocess, sys, timed
timed.repeat_command(lambda: subprocess.run([*sys.argv[1:], "UPDATE stock SET n = n + 1"], stdout=subprocess.DEVNULL))
"""


def prepare(stage):
    data = stage.make_postgres()
    stage.run("postgres", "-D", data, "-c", "listen_addresses=", "-k", data, name="postgres", user="postgres")
    stage.rest(3)
    ask = (stage.find("psql"), "-h", data, "-U", "postgres", "-c")
    stage.finish(*ask, "CREATE TABLE IF NOT EXISTS stock(n int); INSERT INTO stock VALUES (0)")
    stage.start("stock-keeper", CLIENT, *ask)


def inject(stage):
    data = stage.folder / "postgres"
    return [stage.run("psql", "-h", data, "-U", "postgres", "-c", "BEGIN; UPDATE stock SET n = 0; SELECT pg_sleep(1000)", name="inventory")]
