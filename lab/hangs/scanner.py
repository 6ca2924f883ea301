"""A scanner is asked before files are opened, and takes two seconds for each."""
import signal

VICTIM = "opener"
WAITS = {"peer", "lock"}
OPENER = """import sys, timed
timed.repeat(lambda: open(sys.argv[1]).close())
"""
SCANNER = """import ctypes, os, signal, struct, sys, time
OPEN_PERM, ON_CHILD, CONTENT, ADD, ALLOW = 0x10000, 0x08000000, 4, 1, 1
late = 0
def become_late(*_):
    global late
    late = 2
signal.signal(signal.SIGUSR1, become_late)
libc = ctypes.CDLL(None, use_errno=True)
watch = libc.fanotify_init(CONTENT, os.O_RDONLY)
if libc.fanotify_mark(watch, ADD, ctypes.c_uint64(OPEN_PERM | ON_CHILD), -100, os.fsencode(sys.argv[1])):
    raise SystemExit("cannot watch")
while True:
    events = os.read(watch, 4096)
    while events:
        size, _, _, _, _, fd, _ = struct.unpack_from("=IBBHQii", events)
        time.sleep(late)
        os.write(watch, struct.pack("=iI", fd, ALLOW))
        os.close(fd)
        events = events[size:]
"""


def prepare(stage):
    folder = stage.folder / "scanned"
    folder.mkdir()
    (folder / "letter").write_text("text")
    stage.start("scanner", SCANNER, folder)
    stage.rest(1)
    stage.start("opener", OPENER, folder / "letter")


def inject(stage):
    return [stage.signal("scanner", signal.SIGUSR1)]


def release(stage):
    stage.end("scanner")
