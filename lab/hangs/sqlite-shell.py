"""A user leaves a transaction open in SQLite's shell: a script that writes tries again and again."""
NEEDS = ("sqlite3",)
VICTIM = "sqlite3"  # the client starts one for each request
WAITS = {"lock"}
CLIENT = """import subprocess, sys, timed
timed.repeat_command(lambda: subprocess.run(["sqlite3", "-cmd", ".timeout 1000000", sys.argv[1], "PRAGMA synchronous = OFF; UPDATE visits SET n = n + 1"],
                                    stdout=subprocess.DEVNULL))
"""
SHELL = """import subprocess, sys, time
shell = subprocess.Popen(["sqlite3", "-cmd", ".timeout 100000", sys.argv[1]], stdin=subprocess.PIPE, text=True, bufsize=1)
shell.stdin.write("BEGIN IMMEDIATE;\\n")
time.sleep(1000)
"""


def prepare(stage):
    stage.finish("sqlite3", stage.folder / "visits.db", "CREATE TABLE visits(n); INSERT INTO visits VALUES(0)")
    stage.start("counter", CLIENT, stage.folder / "visits.db")


def inject(stage):
    return [stage.start("analyst", SHELL, stage.folder / "visits.db")]
