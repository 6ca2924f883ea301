"""Python's multiprocessing: a process sleeps while it has a lock that a manager process keeps; another one asks the manager for it."""
VICTIM = "renderer"
WAITS = {"peer", "lock"}
MANAGER = """import sys, threading
from multiprocessing.managers import BaseManager
class Locks(BaseManager):
    pass
lock = threading.Lock()
Locks.register("get_lock", callable=lambda: lock, exposed=("acquire", "release"))
Locks(address=sys.argv[1], authkey=b"lab").get_server().serve_forever()
"""
USER = """import os, sys, time
from multiprocessing.managers import BaseManager
class Locks(BaseManager):
    pass
Locks.register("get_lock", exposed=("acquire", "release"))
locks = Locks(address=sys.argv[1], authkey=b"lab")
locks.connect()
lock = locks.get_lock()
def use():
    lock._callmethod("acquire")
    lock._callmethod("release")
"""
CLIENT = USER + """
import timed
timed.repeat(use)
"""
HOLDER = USER + """
while not os.path.exists(sys.argv[2]):
    use()
    time.sleep(0.1)
lock._callmethod("acquire")
time.sleep(1000)
"""


def prepare(stage):
    stage.start("lock-keeper", MANAGER, stage.folder / "locks")
    stage.rest(1)
    stage.start("thumbnails", HOLDER, stage.folder / "locks", stage.folder / "keep-it")
    stage.start("renderer", CLIENT, stage.folder / "locks")


def inject(stage):
    (stage.folder / "keep-it").touch()
    return [stage.actor("thumbnails")]


def release(stage):
    stage.end("thumbnails")
