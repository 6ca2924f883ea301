"""An administrator pauses all clients of a cache server, as for a failover, and forgets it: the server runs, and answers no one."""
NEEDS = ("redis-server", "redis-cli")
VICTIM = "ticker"
WAITS = {"peer", "network", "remote"}
CLIENT = """import socket, sys, timed
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
def ask():
    server.sendall(b"PING\\r\\n")
    server.recv(100)
timed.repeat(ask)
"""
PORT = 18202


def prepare(stage):
    stage.run("redis-server", "--port", PORT, "--save", "", name="quote-cache")
    stage.rest(1)
    stage.start("ticker", CLIENT, PORT)


def inject(stage):
    stage.run("redis-cli", "-p", PORT, "CLIENT", "PAUSE", 1000000, name="failover")
    return [stage.actor("quote-cache")]


def release(stage):
    stage.end("quote-cache")
