"""Each call of a server is traced: it answers many times later, though nobody stops it for long."""
NEEDS = ("strace",)
VICTIM = "ledger"
WAITS = {"peer", "remote", "network", "cpu", "lock"}
SERVER = """import os, socket, sys
door = socket.socket(socket.AF_UNIX)
door.bind(sys.argv[1])
door.listen()
client = door.accept()[0]
while client.recv(16):
    for _ in range(300):
        os.stat(sys.argv[1])
    client.sendall(b"done")
"""
CLIENT = """import socket, sys, timed
server = socket.socket(socket.AF_UNIX)
server.connect(sys.argv[1])
def ask():
    server.sendall(b"sum")
    server.recv(16)
timed.repeat(ask)
"""


def prepare(stage):
    stage.start("bookkeeping", SERVER, stage.folder / "books")
    stage.rest(1)
    stage.start("ledger", CLIENT, stage.folder / "books")


def inject(stage):
    return [stage.run("strace", "-f", "-o", "/dev/null", "-p", stage.actor("bookkeeping").process.pid, name="tracer"), stage.actor("bookkeeping")]


def release(stage):
    stage.end("tracer")
