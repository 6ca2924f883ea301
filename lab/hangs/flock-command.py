"""A script runs a long command under the lock that others take by flock(1) for a moment."""
NEEDS = ("flock",)
VICTIM = "flock"  # the client starts one for each request
WAITS = {"lock"}
CLIENT = """import subprocess, sys, timed
timed.repeat_command(lambda: subprocess.run(["flock", sys.argv[1], "true"]))
"""


def prepare(stage):
    stage.start("hourly", CLIENT, stage.folder / "hourly.lock")


def inject(stage):
    return [stage.run("flock", stage.folder / "hourly.lock", "sleep", 1000, name="nightly")]
