"""What a program writes goes through tee to two readers, of which one reads no more."""
import os
import signal

NEEDS = ("tee",)
VICTIM = "measurement"
WAITS = {"peer", "disk"}
CLIENT = """import os, sys, timed
pipe = os.open(sys.argv[1], os.O_WRONLY)
timed.repeat(lambda: os.write(pipe, bytes(16384)))
"""
READER = """import os, signal, sys, time
late = False
def become_late(*_):
    global late
    late = True
signal.signal(signal.SIGUSR1, become_late)
pipe = os.open(sys.argv[1], os.O_RDONLY)
while os.read(pipe, 65536):
    if late:
        time.sleep(1000)
"""


def prepare(stage):
    first, second = stage.folder / "measured", stage.folder / "kept"
    os.mkfifo(first)
    os.mkfifo(second)
    stage.start("plotter", READER, second)
    stage.run("sh", "-c", f"exec tee <{first} {second} >/dev/null", name="splitter")
    stage.start("measurement", CLIENT, first)


def inject(stage):
    return [stage.signal("plotter", signal.SIGUSR1)]


def release(stage):
    stage.end("plotter")
