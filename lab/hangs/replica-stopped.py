"""A client of Redis waits until a replica has its write, and the replica is stopped."""
import signal

NEEDS = ("redis-server", "redis-cli")
VICTIM = "order-desk"
WAITS = {"peer", "remote", "network"}
PORT, REPLICA_PORT = 18192, 18193
CLIENT = """import socket, sys, timed
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
def ask():
    server.sendall(b"SET orders 1\\r\\nWAIT 1 0\\r\\n")
    said = b""
    while said.count(b"\\r\\n") < 2:
        said += server.recv(100)
timed.repeat(ask)
"""


def prepare(stage):
    stage.run("redis-server", "--port", PORT, "--save", "", "--repl-diskless-sync-delay", 0, name="orders")
    stage.run("redis-server", "--port", REPLICA_PORT, "--save", "", "--replicaof", f"127.0.0.1 {PORT}", name="orders-replica")
    stage.rest(4)
    stage.start("order-desk", CLIENT, PORT)


def inject(stage):
    return [stage.signal("orders-replica", signal.SIGSTOP)]


def release(stage):
    stage.end("orders-replica")
