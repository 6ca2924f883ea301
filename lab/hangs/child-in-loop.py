"""A server runs a command that does not end before it answers."""
import signal

VICTIM = "applicant"
WAITS = {"peer", "lock", "none"}
SERVER = """import re, signal, socket, socketserver, subprocess, sys, threading, time
command = ["true"]
def become_late(*_):
    global command
    command = ["sleep", "1000"]
signal.signal(signal.SIGUSR1, become_late)
class Answer(socketserver.BaseRequestHandler):
    def handle(self):
        while self.request.recv(16):
            subprocess.run(command) if command != ["true"] else None
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
PORT = 18157


def prepare(stage):
    stage.start("converter", SERVER, PORT)
    stage.rest(1)
    stage.start("applicant", CLIENT, PORT)


def inject(stage):
    return [stage.signal("converter", signal.SIGUSR1)]


def release(stage):
    stage.end("converter")
