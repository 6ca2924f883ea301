"""Who keeps a terminal for others is stopped by a signal: a program that writes to that terminal waits."""
import signal

NEEDS = ("script",)
VICTIM = "typist"
WAITS = {"peer", "disk"}
CLIENT = """import os, sys, timed
terminal = os.open(open(sys.argv[1]).read().strip(), os.O_WRONLY | os.O_NOCTTY)
timed.repeat(lambda: os.write(terminal, b"x" * 4096))
"""


def prepare(stage):
    where = stage.folder / "terminal"
    stage.run("script", "-q", "-c", f"tty >{where}; sleep 100000", "/dev/null", name="recorder-of-terminals")
    stage.rest(1)
    stage.start("typist", CLIENT, where)


def inject(stage):
    return [stage.signal("recorder-of-terminals", signal.SIGSTOP)]


def release(stage):
    stage.end("recorder-of-terminals")
