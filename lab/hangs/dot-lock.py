"""A mail program keeps a mailbox's lock file: who delivers mail looks again and again whether it has gone."""
VICTIM = "delivery"
WAITS = {"lock"}
DELIVERY = """import os, sys, time, timed
def deliver():
    while True:
        try:
            os.close(os.open(sys.argv[1], os.O_CREAT | os.O_EXCL))
            break
        except FileExistsError:
            time.sleep(0.2)
    os.unlink(sys.argv[1])
timed.repeat(deliver)
"""
READER = """import os, sys, time
while True:
    try:
        keep = os.open(sys.argv[1], os.O_CREAT | os.O_EXCL)
        break
    except FileExistsError:
        time.sleep(0.001)
time.sleep(1000)
"""


def prepare(stage):
    stage.start("delivery", DELIVERY, stage.folder / "inbox.lock")


def inject(stage):
    return [stage.start("mail-reader", READER, stage.folder / "inbox.lock")]


def release(stage):
    (stage.folder / "inbox.lock").unlink(missing_ok=True)
