"""A log daemon reads no more: who writes a line waits for room."""
import signal

VICTIM = "talker"
WAITS = {"peer"}
DAEMON = """import signal, socket, sys, time
signal.signal(signal.SIGUSR1, lambda *_: time.sleep(1000))
door = socket.socket(socket.AF_UNIX)
door.bind(sys.argv[1])
door.listen()
client, _ = door.accept()
while client.recv(65536):
    pass
"""
CLIENT = """import socket, sys, timed
log = socket.socket(socket.AF_UNIX)
log.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
log.connect(sys.argv[1])
timed.repeat(lambda: log.sendall(b"line" * 1000))
"""


def prepare(stage):
    stage.start("log-daemon", DAEMON, stage.folder / "log")
    stage.rest(1)
    stage.start("talker", CLIENT, stage.folder / "log")


def inject(stage):
    return [stage.signal("log-daemon", signal.SIGUSR1)]


def release(stage):
    stage.end("log-daemon")
