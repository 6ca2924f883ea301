"""A terminal multiplexer's server is stopped by a signal: each of its commands waits."""
import signal

NEEDS = ("tmux",)
VICTIM = "tmux: client"  # the script starts one for each request
WAITS = {"peer"}
CLIENT = """import subprocess, sys, timed
timed.repeat_command(lambda: subprocess.run(["tmux", "-S", sys.argv[1], "list-sessions"]))
"""


def prepare(stage):
    stage.run("tmux", "-D", "-S", stage.folder / "desk", "-f", "/dev/null", name="desk")
    stage.rest(1)
    stage.start("status-bar", CLIENT, stage.folder / "desk")


def inject(stage):
    return [stage.signal("desk", signal.SIGSTOP)]


def release(stage):
    stage.end("desk")
