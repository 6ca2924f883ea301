"""A service has two addresses, of which clients try the first one first. The machine there begins to lose all that is sent to it: each connection waits for three seconds before
the second address is tried."""
import reported
import victims
from stage import FAR_ADDRESS

GROUP = "reported"
RESOURCE = "network"
GUILTY = "remote"
FEATURES = set()
CAUSE = "remote"
TOLERABLE = {"no-answer", "packets-lost", "connects-slowly"}
NEEDS = ("python3", "iptables")
PORT = 18417
PRESS = (8, 11)
SERVER = """import socketserver, sys
class Answer(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(b"ok")
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
Server((sys.argv[1], int(sys.argv[2])), Answer).serve_forever()
"""
# SYN is sent again after 1 and 3 s; a client of read() has the kernel wait no longer (TCP_USER_TIMEOUT)
CLIENT = """import socket, sys, timed
def connect():
    for address in sys.argv[4:]:
        server = socket.socket()
        if timed.TIMEOUT:
            server.settimeout(3)
        else:
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 3000)
        try:
            server.connect((address, int(sys.argv[3])))
            return server.recv(10)
        except OSError:
            pass
        finally:
            server.close()
timed.repeat(connect, 0.3)
"""


def prepare(stage, chance):
    server = stage.script("two-addresses.py", SERVER)
    stage.start("python3", server, FAR_ADDRESS, PORT, name="first-address", before=stage.in_far)
    stage.start("python3", server, "127.0.0.1", PORT, name="second-address")
    stage.watch(1)  # until they listen
    victims.start(stage, "caller", CLIENT, PORT, FAR_ADDRESS, "127.0.0.1")
    stage.watch(1)


def inject(stage, chance):
    reported.lose_in_far(stage, "-p", "tcp", "--dport", str(PORT))
    return []


def restore(stage):
    reported.lose_nothing_in_far(stage)
