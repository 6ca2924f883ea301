"""One session has read a table in a transaction and idles; another one wants to alter the table and waits for it, and who reads the table waits for that one."""
import life
import victims
from resources import CPU, LOCKS, SWITCHING

GROUP = "reported"
RESOURCE = "delay"
FEATURES = CPU | LOCKS | SWITCHING | {"wait.peer", "wait.network"}
CAUSE = "waits-inside"
TOLERABLE = {"no-answer", "lock-held", "lock-holder", "lock"}
NEEDS = ("postgres", "psql")
# psql waits in poll(); the other one lets `cat` do it, in read()
READS = """import subprocess, sys, timed
through = "" if timed.TIMEOUT else " | cat"
session = subprocess.Popen(["sh", "-c", f"exec psql -h {sys.argv[3]} -U postgres -qAt bench" + through], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
def ask():
    session.stdin.write("SELECT count(*) FROM pgbench_branches;\\n")
    session.stdout.readline()
timed.repeat(ask)
"""
SESSION = """import subprocess, sys, time
session = subprocess.Popen(["psql", "-h", sys.argv[1], "-U", "postgres", "-q", "bench"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, bufsize=1)
session.stdin.write(sys.argv[2] + "\\n")
time.sleep(1000)
"""


def prepare(stage, chance):
    victims.start(stage, "branch", READS, stage.work / "postgres")
    stage.watch(1)


def inject(stage, chance):
    script, folder = stage.script("session.py", SESSION), stage.work / "postgres"
    idle = stage.start("python3", script, folder, "BEGIN; SELECT count(*) FROM pgbench_branches;", name="reporting")
    stage.watch(chance.uniform(0.5, 1))
    migrating = stage.start("python3", script, folder, "ALTER TABLE pgbench_branches ADD COLUMN note text;", name="migration")
    return [idle, migrating, stage.actor("postgres")]


def restore(stage):
    life.end_questions(stage, "pgbench_branches")
