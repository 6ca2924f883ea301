"""A service over a local socket that keeps the borders of messages (SOCK_SEQPACKET) hands requests to a process of its own, which sleeps."""
VICTIM = "door-lock"
WAITS = {"peer"}
SERVICE = """import os, socket, sys, time
door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
door.bind(sys.argv[1])
door.listen()
up, down = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if os.fork() == 0:
    up.close()
    while True:
        request = down.recv(64)
        if os.path.exists(sys.argv[2]):
            time.sleep(1000)
        down.send(request)
down.close()
while True:
    client, _ = door.accept()
    while True:
        request = client.recv(64)
        if not request:
            break
        up.send(request)
        client.send(up.recv(64))
"""
CLIENT = """import socket, sys, timed
service = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
service.connect(sys.argv[1])
def ask():
    service.send(b"may this key open?")
    service.recv(64)
timed.repeat(ask)
"""


def prepare(stage):
    stage.start("key-service", SERVICE, stage.folder / "keys", stage.folder / "keys-are-lost")
    stage.rest(1)
    stage.start("door-lock", CLIENT, stage.folder / "keys")


def inject(stage):
    (stage.folder / "keys-are-lost").touch()
    return [stage.actor("key-service")]


def release(stage):
    stage.end("key-service")
