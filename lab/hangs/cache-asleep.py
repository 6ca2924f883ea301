"""A debugging command puts a cache server to sleep; its client waits in poll()."""
NEEDS = ("redis-server", "redis-cli")
VICTIM = "basket"
WAITS = {"peer", "network", "remote"}
CLIENT = """import socket, sys, timed
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=1000)
def ask():
    server.sendall(b"PING\\r\\n")
    server.recv(100)
timed.repeat(ask)
"""
PORT = 18161


def prepare(stage):
    stage.run("redis-server", "--port", PORT, "--save", "", "--enable-debug-command", "yes", name="session-cache")
    stage.rest(1)
    stage.start("basket", CLIENT, PORT)


def inject(stage):
    return [stage.run("redis-cli", "-p", PORT, "DEBUG", "SLEEP", 1000, name="tester"), stage.actor("session-cache")]


def release(stage):
    stage.end("session-cache")
