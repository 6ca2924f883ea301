"""A web server that serves one connection at a time waits for the rest of a request, which its client does not send: all others wait."""
from hangstage import HTTP_SERVER, HTTP_VISITS

VICTIM = "price-reader"
WAITS = {"peer", "remote", "network"}
SERVER = """threaded = False
def before_answer(path):
    pass
""" + HTTP_SERVER
HOLDER = """import socket, sys, time
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
server.sendall(b"GET / HT")
time.sleep(1000)
"""
PORT = 18174


def prepare(stage):
    stage.start("price-server", SERVER, PORT)
    stage.rest(1)
    stage.start("price-reader", HTTP_VISITS, PORT, "/")


def inject(stage):
    return [stage.start("probe", HOLDER, PORT), stage.actor("price-server")]


def release(stage):
    stage.end("probe")
