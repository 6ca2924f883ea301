"""A database on another machine is reached through a tunnel, a program here that passes on what it is sent. The way to that machine begins to lose all packets: clients wait for
the tunnel, as it seems."""
import reported
import victims
from stage import FAR_ADDRESS

GROUP = "reported"
RESOURCE = "network"
GUILTY = "remote"
FEATURES = set()
CAUSE = "remote"
TOLERABLE = {"no-answer", "packets-lost"}
NEEDS = ("haproxy", "python3", "iptables")
PORT, FAR_PORT = 18419, 18420
PRESS = (8, 11)
SERVER = """import socketserver, sys
class Answer(socketserver.BaseRequestHandler):
    def handle(self):
        while self.request.recv(100):
            self.request.sendall(b"row")
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
Server((sys.argv[1], int(sys.argv[2])), Answer).serve_forever()
"""
CLIENT = """import sys, timed
server = timed.connect("127.0.0.1", int(sys.argv[3]))
def ask():
    server.sendall(b"select")
    server.recv(10)
timed.repeat(ask)
"""
TUNNEL = """global
    nbthread 1
defaults
    mode tcp
    timeout connect 60s
    timeout client 600s
    timeout server 600s
listen tunnel
    bind 127.0.0.1:{port}
    server far {address}:{far_port}
"""


def prepare(stage, chance):
    stage.start("python3", stage.script("far-rows.py", SERVER), FAR_ADDRESS, FAR_PORT, name="far-rows", before=stage.in_far)
    settings = stage.script("tunnel.cfg", TUNNEL.format(port=PORT, address=FAR_ADDRESS, far_port=FAR_PORT))
    stage.start("haproxy", "-db", "-f", settings, name="tunnel")
    stage.watch(1)  # until it listens
    victims.start(stage, "row-reader", CLIENT, PORT)
    stage.watch(1)


def inject(stage, chance):
    reported.lose_in_far(stage, "-p", "tcp", "--dport", str(FAR_PORT))
    return []


def restore(stage):
    reported.lose_nothing_in_far(stage)
