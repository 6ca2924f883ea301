"""A cache server is stopped by a signal; its client waits in poll()."""
import signal

NEEDS = ("redis-server",)
VICTIM = "ranking"
WAITS = {"peer", "network", "remote"}
CLIENT = """import socket, sys, timed
server = socket.socket(socket.AF_UNIX)
server.settimeout(1000)
server.connect(sys.argv[1])
def ask():
    server.sendall(b"PING\\r\\n")
    server.recv(100)
timed.repeat(ask)
"""


def prepare(stage):
    stage.run("redis-server", "--port", 0, "--unixsocket", stage.folder / "scores", "--save", "", name="scores")
    stage.rest(1)
    stage.start("ranking", CLIENT, stage.folder / "scores")


def inject(stage):
    return [stage.signal("scores", signal.SIGSTOP)]


def release(stage):
    stage.end("scores")
