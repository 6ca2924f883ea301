"""A script keeps a cache server, which answers nothing else as long as it runs."""
NEEDS = ("redis-server", "redis-cli")
VICTIM = "cart"
WAITS = {"peer", "lock", "none"}
CLIENT = """import socket, sys, timed
server = socket.socket(socket.AF_UNIX)
server.connect(sys.argv[1])
def ask():
    server.sendall(b"PING\\r\\n")
    server.recv(100)
timed.repeat(ask)
"""
SCRIPT = "local n = 0 for i = 1, 4000000000 do n = n + i end return n"


def prepare(stage):
    stage.run("redis-server", "--port", 0, "--unixsocket", stage.folder / "cache", "--save", "", "--busy-reply-threshold", 100000, name="cache")
    stage.rest(1)
    stage.start("cart", CLIENT, stage.folder / "cache")


def inject(stage):
    return [stage.run("redis-cli", "-s", stage.folder / "cache", "EVAL", SCRIPT, 0, name="statistics"), stage.actor("cache")]


def release(stage):
    stage.end("cache")
