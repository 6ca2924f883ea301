"""A file of a file system in user space is mapped; its server answers late, and who touches the memory waits in a page fault."""
import signal

from hangstage import FUSE_SERVER

VICTIM = "map-reader"
WAITS = {"peer", "disk"}
CLIENT = """import mmap, os, sys, timed
file = os.open(sys.argv[1], os.O_RDONLY)
def look():
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    with mmap.mmap(file, 4, mmap.MAP_SHARED, mmap.PROT_READ) as page:
        page[0]
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
timed.repeat(look)
"""


def prepare(stage):
    folder = stage.mount_point("atlas")
    stage.start("atlas-server", "name, open_flags = b'atlas', 0\n" + FUSE_SERVER, folder)
    stage.rest(1)
    stage.start("map-reader", CLIENT, folder / "photo")


def inject(stage):
    return [stage.signal("atlas-server", signal.SIGUSR1)]


def release(stage):
    stage.end("atlas-server")
