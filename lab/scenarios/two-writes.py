"""A server begins to write its answers in two pieces, with small packets held back (no TCP_NODELAY): each request waits 40 ms for an acknowledgement."""

import victims
from resources import CPU, NETWORK, SWITCHING

GROUP = "reported"
RESOURCE = "delay"
FEATURES = CPU | NETWORK | SWITCHING | {"wait.peer", "wait.network"}
CAUSE = "no-answer"
TOLERABLE = {"remote", "waits-inside", "connects-slowly"}
NEEDS = ("python3",)
PORT = 18408
SERVER = """import os, socketserver, sys
class Answer(socketserver.BaseRequestHandler):
    def handle(self):
        while self.request.recv(100):
            self.request.sendall(b"a" * 200)
            if os.path.exists(sys.argv[2]):
                self.request.sendall(b"b" * 200)
            else:
                self.request.sendall(b"")
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
Server(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""
CLIENT = """import os, sys, timed
server = timed.connect("127.0.0.1", int(sys.argv[3]))
def ask():
    for i in range(5):
        server.sendall(b"what?")
        size, whole = 0, 400 if os.path.exists(sys.argv[4]) else 200
        while size < whole:
            size += len(server.recv(1000))
timed.repeat(ask)
"""


def prepare(stage, chance):
    flag = stage.work / "two-writes"
    flag.unlink(missing_ok=True)
    stage.start("python3", stage.script("pieces.py", SERVER), PORT, flag, name="catalogue")
    stage.watch(1)  # until it listens
    victims.start(stage, "catalogue-reader", CLIENT, PORT, flag)
    stage.watch(1)


def inject(stage, chance):
    (stage.work / "two-writes").touch()
    return [stage.actor("catalogue")]


def restore(stage):
    (stage.work / "two-writes").unlink(missing_ok=True)
