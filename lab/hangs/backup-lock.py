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
SETTINGS = "--skip-networking", "--innodb-buffer-pool-size=16M", "--user=root"


def ask(stage):
    data = stage.folder / "sales"
    return stage.find("mariadb"), "--no-defaults", f"--socket={data}/socket", "-u", "root"


def prepare(stage):
    data = stage.folder / "sales"
    stage.finish("mariadb-install-db", "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal", "--user=root")
    stage.run("mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={data}/socket", *SETTINGS, name="sales-mariadbd")
    stage.rest(4)
    stage.finish(*ask(stage), "-e", "CREATE DATABASE shop; CREATE TABLE shop.sales(n INT) ENGINE = InnoDB")
    stage.start("cash-desk", CLIENT, *ask(stage), "shop")


def inject(stage):
    return [stage.start("night-backup", HOLDER, *ask(stage), "shop")]
