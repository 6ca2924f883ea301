"""A file system in user space answers late: who reads a file in it waits."""
import signal

from hangstage import FUSE_SERVER

VICTIM = "album"
WAITS = {"peer", "disk"}
CLIENT = """import os, sys, timed
def look():
    file = os.open(sys.argv[1], os.O_RDONLY)
    os.read(file, 4)
    os.close(file)
timed.repeat(look)
"""


def prepare(stage):
    folder = stage.mount_point("photos")
    stage.start("album-server", "name, open_flags = b'album', 1\n" + FUSE_SERVER, folder)
    stage.rest(1)
    stage.start("album", CLIENT, folder / "photo")


def inject(stage):
    return [stage.signal("album-server", signal.SIGUSR1)]


def release(stage):
    stage.end("album-server")
