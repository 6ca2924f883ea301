"""An agent that holds keys is stopped by a signal: ssh-add(1) waits for it."""
import signal

NEEDS = ("ssh-agent", "ssh-add")
VICTIM = "ssh-add"  # the script starts one for each request
WAITS = {"peer"}
CLIENT = """import os, subprocess, sys, timed
os.environ["SSH_AUTH_SOCK"] = sys.argv[1]
timed.repeat_command(lambda: subprocess.run(["ssh-add", "-l"]))
"""


def prepare(stage):
    stage.run("ssh-agent", "-D", "-a", stage.folder / "keys", name="keys")
    stage.rest(1)
    stage.start("deploy", CLIENT, stage.folder / "keys")


def inject(stage):
    return [stage.signal("keys", signal.SIGSTOP)]


def release(stage):
    stage.end("keys")
