"""A server sleeps amid one request: who connects is not let in."""
import signal

VICTIM = "visitor"
WAITS = {"peer", "remote", "network"}
SERVER = """import signal, socket, sys, time
signal.signal(signal.SIGUSR1, lambda *_: time.sleep(1000))
door = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=1)
while True:
    client, _ = door.accept()
    client.recv(16)
    client.sendall(b"done")
    client.close()
"""
CLIENT = """import socket, sys, timed
def visit():
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as server:
        server.sendall(b"tea")
        server.recv(16)
timed.repeat(visit)
"""
PORT = 18159


def prepare(stage):
    stage.start("reception", SERVER, PORT)
    stage.rest(1)
    stage.start("visitor", CLIENT, PORT)


def inject(stage):
    return [stage.signal("reception", signal.SIGUSR1)]


def release(stage):
    stage.end("reception")
