"""An upload fills the slow line out of this machine: each request to the other machine waits in its queue."""
import reported
import victims
from resources import NETWORK, READING, SWITCHING, WRITING
from stage import FAR_ADDRESS, SceneBroken

GROUP = "reported"
RESOURCE = "network"
FEATURES = NETWORK | READING | WRITING | SWITCHING | {"handles.sockets", "wait.network"}
CAUSE = "limit"
TOLERABLE = {"network-busy", "remote"}
NEEDS = ("python3", "tc")
PAGES, TAKES = 18430, 18431
LINE = "rate 4mbit burst 70k latency 2s"  # each connection has two packets of 64 kB in it at most (TCP small queues)
TAKER = """import socketserver, sys
class Take(socketserver.BaseRequestHandler):
    def handle(self):
        while self.request.recv(1 << 16):
            pass
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
Server((sys.argv[1], int(sys.argv[2])), Take).serve_forever()
"""
SENDER = """import socket, sys, threading
def send():
    takes = socket.create_connection((sys.argv[1], int(sys.argv[2])))
    with open(sys.argv[3], "rb") as archive:
        takes.sendfile(archive)
for _ in range(int(sys.argv[4])):
    threading.Thread(target=send).start()
"""


def prepare(stage, chance):
    if not stage.slow_line(LINE, out=True):
        raise SceneBroken("there is no other machine, or the line to it cannot be made slow")
    stage.start("python3", "-m", "http.server", PAGES, "--protocol", "HTTP/1.1", "--bind", FAR_ADDRESS, "--directory", stage.work / "web", name="far-pages", before=stage.in_far)
    stage.start("python3", stage.script("taker.py", TAKER), FAR_ADDRESS, TAKES, name="taker", before=stage.in_far)
    stage.watch(1)  # until they listen
    victims.start(stage, "page-reader", reported.KEPT_CLIENT, FAR_ADDRESS, PAGES, "/small")
    stage.watch(1)


def inject(stage, chance):
    return [stage.start("python3", stage.script("sender.py", SENDER), FAR_ADDRESS, TAKES, stage.work / "archive", chance.choice((3, 5)), name="sender")]


def restore(stage):
    stage.slow_line(None, out=True)
