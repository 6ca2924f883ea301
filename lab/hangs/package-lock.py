"""As apt and dpkg do: a lock of a file that is tried again each tenth of a second (no call waits for it), while another program has it."""
VICTIM = "package-tool"
WAITS = {"lock", "peer"}
TRY = """import fcntl, os, sys, time
file = open(sys.argv[1], "w")
def take():
    while True:
        try:
            return fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(0.1)
def use():
    take()
    fcntl.lockf(file, fcntl.LOCK_UN)
"""
CLIENT = TRY + """
import timed
timed.repeat(use)
"""
HOLDER = TRY + """
take()
time.sleep(1000)
"""


def prepare(stage):
    (stage.folder / "lock-frontend").touch()
    stage.start("package-tool", CLIENT, stage.folder / "lock-frontend")


def inject(stage):
    return [stage.start("unattended-upgrade", HOLDER, stage.folder / "lock-frontend")]


def release(stage):
    stage.end("unattended-upgrade")
