"""Who reads a named pipe is stopped: who writes to it waits for room."""
import os
import signal

VICTIM = "gauge"
WAITS = {"peer"}
CLIENT = """import os, sys, timed
line = os.open(sys.argv[1], os.O_WRONLY)
timed.repeat(lambda: os.write(line, b"value" * 400))
"""


def prepare(stage):
    os.mkfifo(stage.folder / "values")
    stage.run("cat", stage.folder / "values", name="collector")
    stage.start("gauge", CLIENT, stage.folder / "values")


def inject(stage):
    return [stage.signal("collector", signal.SIGSTOP)]


def release(stage):
    stage.end("collector")
