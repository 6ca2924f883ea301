"""A name server answers two seconds late: who looks up names waits."""
import signal

from hangstage import NAME_SERVER

VICTIM = "browser-like"
WAITS = {"peer", "remote", "network"}
CLIENT = """import socket, sys, timed
def look_up():
    asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    asked.connect(("127.0.0.1", int(sys.argv[1])))
    asked.send(bytes([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 4]) + b"shop" + bytes([4]) + b"test" + bytes([0, 0, 1, 0, 1]))
    asked.recv(512)
    asked.close()
timed.repeat(look_up)
"""
PORT = 18153


def prepare(stage):
    stage.start("name-server", NAME_SERVER, PORT)
    stage.rest(1)
    stage.start("browser-like", CLIENT, PORT)


def inject(stage):
    return [stage.signal("name-server", signal.SIGUSR1)]


def release(stage):
    stage.end("name-server")
