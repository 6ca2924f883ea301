"""Jobs are put into a folder as files, and their results are looked for there: the program that takes them sleeps."""
VICTIM = "label-shop"
WAITS = {"peer", "lock"}
WORKER = """import os, sys, time
folder, pause = sys.argv[1:]
while True:
    for name in os.listdir(folder):
        if name.endswith(".job"):
            if os.path.exists(pause):
                time.sleep(1000)
            os.rename(f"{folder}/{name}", f"{folder}/{name[:-4]}.done")
    time.sleep(0.01)
"""
CLIENT = """import itertools, os, sys, time, timed
numbers = itertools.count()
def ask():
    name = f"{sys.argv[1]}/{next(numbers)}"
    open(name + ".new", "w").close()
    os.rename(name + ".new", name + ".job")
    while not os.path.exists(name + ".done"):
        time.sleep(0.01)
    os.unlink(name + ".done")
timed.repeat(ask)
"""


def prepare(stage):
    (stage.folder / "labels").mkdir()
    stage.start("label-printer", WORKER, stage.folder / "labels", stage.folder / "printer-pauses")
    stage.rest(1)
    stage.start("label-shop", CLIENT, stage.folder / "labels")


def inject(stage):
    (stage.folder / "printer-pauses").touch()
    return [stage.actor("label-printer")]


def release(stage):
    stage.end("label-printer")
