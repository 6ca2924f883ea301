"""A debugger is attached to a server and holds it: its clients wait. The debugger is the culprit, the server only stands still."""
NEEDS = ("gdb",)
VICTIM = "shop-page"
WAITS = {"peer", "remote", "network"}
SERVER = """import socket, sys
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(("127.0.0.1", 18179))
server.listen()
connection, _ = server.accept()
while request := connection.recv(100):
    connection.sendall(request)
"""
CLIENT = """import socket, timed
server = socket.create_connection(("127.0.0.1", 18179))
def ask():
    server.sendall(b"price?\\n")
    server.recv(100)
timed.repeat(ask)
"""


def prepare(stage):
    stage.start("price-server", SERVER)
    stage.rest(1)
    stage.start("shop-page", CLIENT)


def inject(stage):
    server = stage.actor("price-server")
    return [stage.run("gdb", "-q", "-nx", "-p", server.process.pid, "-ex", "shell sleep 60", name="debugger"), server]


def release(stage):
    stage.end("debugger")  # first, or the server would stay as a zombie
