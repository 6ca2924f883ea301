"""Two workers of a server listen on one port, each with a queue of its own (SO_REUSEPORT). One of them wants a lock that a backup begins to hold: who connects to that one
waits, who connects to the other one is served."""
import reported
import victims
from resources import CPU, LOCKS, SWITCHING

GROUP = "reported"
RESOURCE = "delay"
FEATURES = CPU | LOCKS | SWITCHING | {"wait.peer", "wait.network"}
CAUSE = "lock-held"
TOLERABLE = {"no-answer", "lock-holder", "lock", "waits-inside", "server-not-accepting"}
NEEDS = ("python3",)
PORT = 18418
SERVER = """import fcntl, os, socket, sys
shared = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT)
locks = os.fork() == 0
door = socket.socket()
door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
door.bind(("127.0.0.1", int(sys.argv[1])))
door.listen(100)
while True:
    client, _ = door.accept()
    if locks:
        fcntl.lockf(shared, fcntl.LOCK_EX)
        fcntl.lockf(shared, fcntl.LOCK_UN)
    try:
        client.recv(1000)
        client.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\nok")
    except OSError:
        pass
    client.close()
"""
BACKUP = """import fcntl, os, sys, time
shared = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.lockf(shared, fcntl.LOCK_EX)
time.sleep(1000)
"""


def prepare(stage, chance):
    stage.start("python3", stage.script("two-workers.py", SERVER), PORT, stage.work / "two-workers.lock", name="two-workers")
    stage.watch(1)  # until they listen
    victims.start(stage, "guest", reported.NEW_CLIENT, "127.0.0.1", PORT, "/")
    stage.watch(1)


def inject(stage, chance):
    return [stage.start("python3", stage.script("snapshot-backup.py", BACKUP), stage.work / "two-workers.lock", name="snapshot-backup")]
