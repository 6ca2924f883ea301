"""A file of a file system in user space is mapped; its server answers late, and who touches the memory waits in a page fault."""
import importlib.util
import pathlib
import signal

VICTIM = "map-reader"
WAITS = {"peer", "disk"}
_spec = importlib.util.spec_from_file_location("user_file_system", pathlib.Path(__file__).parent / "user-file-system.py")
_other = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_other)
# the file is mapped: its pages stay until they are given up, and no size of its own is asked for each time
SERVER = _other.SERVER.replace("struct.pack(\"=QII\", 0, 1, 0)", "struct.pack(\"=QII\", 0, 0, 0)").replace("fuse.album", "fuse.atlas")
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
    stage.start("atlas-server", SERVER, folder)
    stage.rest(1)
    stage.start("map-reader", CLIENT, folder / "photo")


def inject(stage):
    return [stage.signal("atlas-server", signal.SIGUSR1)]


def release(stage):
    stage.end("atlas-server")
