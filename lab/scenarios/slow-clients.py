"""A server has a few workers, and some clients never say what they want: each keeps a worker, and all others wait for one."""
from resources import CPU, LOCKS, NETWORK, SWITCHING

GROUP = "other"
RESOURCE = "delay"
FEATURES = CPU | LOCKS | NETWORK | SWITCHING | {"wait.peer", "wait.network", "handles.sockets"}
CAUSE = "server-not-accepting"
TOLERABLE = {"no-answer", "remote", "waits-inside"}
NEEDS = ("python3",)
SERVER = """import socket, sys, threading
door = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=4)
def work():
    while True:
        client, _ = door.accept()
        with client:
            asked = b""
            while not asked.endswith(b"\\n") and (more := client.recv(100)):
                asked += more
            client.sendall(asked)
for _ in range(4):
    threading.Thread(target=work).start()
"""
VISITOR = """import socket, sys, time
while True:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as server:
        server.sendall(b"tea\\n")
        server.recv(100)
    time.sleep(0.05)
"""
SILENT = """import socket, sys, time
clients = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(6)]
while True:
    time.sleep(1)
    for client in clients:
        client.sendall(b"t")
"""
PORT = 18090


def prepare(stage, chance):
    stage.start("python3", stage.script("tickets.py", SERVER), PORT, name="ticket-server")
    stage.watch(1)  # until it listens
    for _ in range(chance.choice((1, 4))):
        stage.start("python3", stage.script("visit.py", VISITOR), PORT, name="visitor")


def inject(stage, chance):
    return [stage.actor("ticket-server"), stage.start("python3", stage.script("silent.py", SILENT), PORT, name="silent")]
