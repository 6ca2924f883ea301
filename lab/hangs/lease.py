"""A program has a lease on a file and does not give it back: who opens the file waits."""
VICTIM = "saver"
WAITS = {"lock"}
SAVER = """import sys, timed
def save():
    with open(sys.argv[1], "w") as file:
        file.write("text")
timed.repeat(save)
"""
SYNC = """import fcntl, signal, sys, time
signal.signal(signal.SIGIO, signal.SIG_IGN)
while True:
    try:
        file = open(sys.argv[1])
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        break
    except OSError:
        time.sleep(0.001)
time.sleep(1000)
"""


def prepare(stage):
    (stage.folder / "draft").write_text("")
    stage.start("saver", SAVER, stage.folder / "draft")


def inject(stage):
    return [stage.start("sync-client", SYNC, stage.folder / "draft")]
