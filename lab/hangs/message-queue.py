"""A POSIX message queue is full: who reads it sleeps, and who sends waits for room."""
VICTIM = "till"
WAITS = {"peer"}
QUEUE = """import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
class Attributes(ctypes.Structure):
    _fields_ = [("rest", ctypes.c_long * 8)]
attributes = Attributes((ctypes.c_long * 8)(0, 4, 64))
def open_queue(flags):
    return libc.mq_open(sys.argv[1].encode(), flags | os.O_CREAT, 0o600, ctypes.byref(attributes))
"""
READER = QUEUE + """
queue, message = open_queue(os.O_RDONLY), ctypes.create_string_buffer(64)
while True:
    libc.mq_receive(queue, message, 64, None)
    if os.path.exists(sys.argv[2]):
        time.sleep(1000)
"""
CLIENT = QUEUE + """
import timed
queue = open_queue(os.O_WRONLY)
timed.repeat(lambda: libc.mq_send(queue, b"receipt", 7, 0))
"""


def prepare(stage):
    name = f"/{stage.folder.name}-receipts"
    stage.start("printer-queue", READER, name, stage.folder / "paper-jam")
    stage.rest(1)
    stage.start("till", CLIENT, name)


def inject(stage):
    (stage.folder / "paper-jam").touch()
    return [stage.actor("printer-queue")]


def release(stage):
    stage.end("printer-queue")
