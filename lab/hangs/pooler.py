"""A connection pooler has one connection to its database, and a report keeps it in a transaction: the next client waits in the pooler."""
import pwd
import shutil

NEEDS = ("pgbouncer", "postgres", "initdb", "psql")
VICTIM = "psql"  # the client starts one for each request
WAITS = {"lock", "peer", "remote", "network"}
PORT = 18181
CLIENT = """import subprocess, sys, timed
timed.repeat_command(lambda: subprocess.run([*sys.argv[1:], "SELECT 1"], stdout=subprocess.DEVNULL))
"""
SETTINGS = """[databases]
shop = host={data} dbname=postgres user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 1
query_wait_timeout = 0
"""


def ask(stage):
    return stage.find("psql"), "-h", "127.0.0.1", "-p", PORT, "-U", "postgres", "shop", "-c"


def prepare(stage):
    data = stage.make_postgres("pooled")
    stage.run("postgres", "-D", data, "-c", "listen_addresses=", "-k", data, name="pooled-postgres", user="postgres")
    settings = stage.folder / "pooler.ini"
    settings.write_text(SETTINGS.format(data=data, port=PORT))
    shutil.chown(settings, pwd.getpwnam("postgres").pw_name)
    stage.rest(3)
    stage.run("pgbouncer", "-q", settings, name="pooler", user="postgres")
    stage.rest(1)
    stage.start("till", CLIENT, *ask(stage))


def inject(stage):
    return [stage.run(*ask(stage), "BEGIN; SELECT pg_sleep(1000)", name="month-report")]
