"""The processes of a server take turns to accept connections, by a lock on a file, and the one whose turn it is sleeps: no connection is accepted."""
VICTIM = "ticket-buyer"
WAITS = {"peer", "remote", "network", "lock"}
PORT = 18212
SERVER = """import fcntl, os, socket, sys, time
door = socket.create_server(("127.0.0.1", int(sys.argv[1])))
def serve(number):
    turn = open(sys.argv[2] + ".turn", "w")
    while True:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if os.path.exists(sys.argv[2]):
            time.sleep(1000)
        client, _ = door.accept()
        fcntl.flock(turn, fcntl.LOCK_UN)
        client.recv(16)
        client.sendall(b"done")
        client.close()
for number in range(3):
    if os.fork() == 0:
        serve(number)
os.wait()
"""
CLIENT = """import socket, sys, timed
def ask():
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as server:
        server.sendall(b"ticket")
        server.recv(16)
timed.repeat(ask)
"""


def prepare(stage):
    stage.start("ticket-office", SERVER, PORT, stage.folder / "office-pauses")
    stage.rest(1)
    stage.start("ticket-buyer", CLIENT, PORT)


def inject(stage):
    (stage.folder / "office-pauses").touch()
    return [stage.actor("ticket-office")]


def release(stage):
    stage.end("ticket-office")
