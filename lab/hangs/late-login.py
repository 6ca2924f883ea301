"""Users are looked up in a directory over a local socket, as with LDAP, and the directory's server stands still: who lists users waits."""
import signal

VICTIM = "badge-reader"
WAITS = {"peer"}
SERVER = """import os, socketserver, sys
class Answer(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write(b"user:" + line)
class Server(socketserver.ForkingMixIn, socketserver.UnixStreamServer):
    max_children = 100
Server(sys.argv[1], Answer).serve_forever()
"""
CLIENT = """import socket, sys, timed
def ask():
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.connect(sys.argv[1])
        server.sendall(b"1000\\n")
        server.recv(100)
timed.repeat(ask)
"""


def prepare(stage):
    stage.start("directory", SERVER, stage.folder / "directory.socket")
    stage.rest(1)
    stage.start("badge-reader", CLIENT, stage.folder / "directory.socket")


def inject(stage):
    return [stage.signal("directory", signal.SIGSTOP)]


def release(stage):
    stage.end("directory")
