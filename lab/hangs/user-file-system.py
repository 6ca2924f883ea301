"""A file system in user space answers late: who reads a file in it waits."""
import signal

VICTIM = "album"
WAITS = {"peer", "disk"}
# The kernel's include/uapi/linux/fuse.h: a folder with one file, "photo", of 4 bytes, which is never cached
SERVER = """import ctypes, os, signal, struct, sys, time
INIT, LOOKUP, GETATTR, OPEN, READ, FORGET, INTERRUPT = 26, 1, 3, 14, 15, 2, 36
late = 0
def become_late(*_):
    global late
    late = 2
signal.signal(signal.SIGUSR1, become_late)
fuse = os.open("/dev/fuse", os.O_RDWR)
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"album", os.fsencode(sys.argv[1]), b"fuse.album", 0, b"fd=%d,rootmode=40755,user_id=0,group_id=0" % fuse):
    raise SystemExit("cannot mount")
def attributes(node):
    mode, size = (0o40755, 0) if node == 1 else (0o100644, 4)
    return struct.pack("=QQQQQQIIIIIIIIII", node, size, 1, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)
def answer(code, node, body):
    if code == INIT:
        return struct.pack("=IIIIHHIIHHI7I", 7, 31, 0, 0, 12, 9, 65536, 1, 16, 0, 0, *[0] * 7)
    if code == LOOKUP and body == b"photo" + bytes(1):
        return struct.pack("=QQQQII", 2, 0, 0, 0, 0, 0) + attributes(2)
    if code == GETATTR:
        return struct.pack("=QII", 0, 0, 0) + attributes(node)
    if code == OPEN:
        return struct.pack("=QII", 0, 1, 0)
    if code == READ:
        time.sleep(late)
        return b"tree"
    return None
while True:
    request = os.read(fuse, 1 << 20)
    size, code, unique, node = struct.unpack_from("=IIQQ", request)
    said = answer(code, node, request[40:size])
    if code not in (FORGET, INTERRUPT):
        os.write(fuse, struct.pack("=IiQ", 16 + len(said or b""), 0 if said is not None else -2 if code == LOOKUP else 0, unique) + (said or b""))
"""
CLIENT = """import os, sys, timed
def look():
    file = os.open(sys.argv[1], os.O_RDONLY)
    os.read(file, 4)
    os.close(file)
timed.repeat(look)
"""


def prepare(stage):
    folder = stage.mount_point("photos")
    stage.start("album-server", SERVER, folder)
    stage.rest(1)
    stage.start("album", CLIENT, folder / "photo")


def inject(stage):
    return [stage.signal("album-server", signal.SIGUSR1)]


def release(stage):
    stage.end("album-server")
