"""One thread of a server matches a bad expression and keeps the interpreter's lock: no other thread answers."""
import signal

VICTIM = "reader"
WAITS = {"peer", "lock", "cpu", "none"}
SERVER = """import re, signal, socket, socketserver, subprocess, sys, threading, time
def compute():
    asked.wait()
    re.match("(a+)+b", "a" * 40)
asked = threading.Event()
threading.Thread(target=compute, daemon=True).start()
signal.signal(signal.SIGUSR1, lambda *_: asked.set())
class Answer(socketserver.BaseRequestHandler):
    def handle(self):
        while self.request.recv(16):
            pass
            self.request.sendall(b"done")
class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address = daemon_threads = True
Server(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""
CLIENT = """import socket, sys, timed
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
def ask():
    server.sendall(b"order")
    server.recv(16)
timed.repeat(ask)
"""
PORT = 18156


def prepare(stage):
    stage.start("catalogue", SERVER, PORT)
    stage.rest(1)
    stage.start("reader", CLIENT, PORT)


def inject(stage):
    return [stage.signal("catalogue", signal.SIGUSR1)]


def release(stage):
    stage.end("catalogue")
