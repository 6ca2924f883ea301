"""A jobserver's pipe has one token, and a job that hangs has it: the other jobs wait to read from the pipe."""
VICTIM = "linker"
WAITS = {"peer", "lock"}
CLIENT = """import os, sys, timed
pipe = os.open(sys.argv[1], os.O_RDWR)
def ask():
    token = os.read(pipe, 1)
    os.write(pipe, token)
timed.repeat(ask)
"""
HOLDER = """import os, sys, time
pipe = os.open(sys.argv[1], os.O_RDWR)
os.read(pipe, 1)
time.sleep(1000)
"""
MASTER = """import os, sys, time
os.mkfifo(sys.argv[1])
pipe = os.open(sys.argv[1], os.O_RDWR)
os.write(pipe, b"+")
time.sleep(100000)
"""


def prepare(stage):
    stage.start("build-master", MASTER, stage.folder / "tokens")
    stage.rest(1)
    stage.start("linker", CLIENT, stage.folder / "tokens")


def inject(stage):
    return [stage.start("optimizer", HOLDER, stage.folder / "tokens")]
