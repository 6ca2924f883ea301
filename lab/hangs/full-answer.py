"""A server with one thread writes a large answer to a client that does not read it: its other client waits."""
VICTIM = "small-reader"
WAITS = {"peer", "network", "remote"}
SERVER = """import os, selectors, socket, sys
door = socket.socket(socket.AF_UNIX)
door.bind(sys.argv[1])
door.listen()
clients = selectors.DefaultSelector()
clients.register(door, selectors.EVENT_READ)
while True:
    for key, _ in clients.select():
        if key.fileobj is door:
            clients.register(door.accept()[0], selectors.EVENT_READ)
        elif not (request := key.fileobj.recv(16)):
            clients.unregister(key.fileobj)
        else:
            key.fileobj.sendall(b"x" * (100 << 20 if request == b"all" else 4))
"""
CLIENT = """import socket, sys, timed
server = socket.socket(socket.AF_UNIX)
server.connect(sys.argv[1])
def ask():
    server.sendall(b"one")
    server.recv(16)
timed.repeat(ask)
"""
HOLDER = """import socket, sys, time
server = socket.socket(socket.AF_UNIX)
server.connect(sys.argv[1])
server.sendall(b"all")
time.sleep(1000)
"""


def prepare(stage):
    stage.start("archive", SERVER, stage.folder / "archive.socket")
    stage.rest(1)
    stage.start("small-reader", CLIENT, stage.folder / "archive.socket")


def inject(stage):
    return [stage.start("viewer", HOLDER, stage.folder / "archive.socket")]


def release(stage):
    stage.end("viewer")
