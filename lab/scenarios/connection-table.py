"""The kernel notes the connections to a web server, at most 2,500. A program opens 4,000 and keeps them: the table is full, and who connects anew tries again and again."""
import reported
import victims
from resources import CPU, NETWORK, SWITCHING

GROUP = "reported"
RESOURCE = "network"
FEATURES = CPU | NETWORK | SWITCHING | {"handles.files", "handles.sockets", "wait.network", "wait.peer", "tcp.retransmits", "tcp.connects"}
CAUSE = "packets-lost"
TOLERABLE = {"connects-slowly", "no-answer", "server-not-accepting"}
NEEDS = ("nginx", "iptables", "conntrack")
PORT, ENTRIES = 18409, 2500
PRESS = (8, 12)
KEEPER = """import resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (9000, 9000))
kept = []
for i in range(4000):
    server = socket.socket()
    server.setblocking(False)
    server.connect_ex(("127.0.0.1", int(sys.argv[1])))
    kept.append(server)
    time.sleep(0.001)
time.sleep(1000)
"""


def prepare(stage, chance):
    stage.track_connections(PORT, ENTRIES)
    folder = reported.nginx(stage, stage.work / "tracked", f"127.0.0.1:{PORT}", "keepalive_timeout 600;")
    stage.start("nginx", "-p", folder, "-c", "nginx.conf", name="tracked-web")
    stage.watch(1)  # until it listens
    victims.start(stage, "visitor", reported.NEW_CLIENT, "127.0.0.1", PORT, "/small")
    stage.watch(1)


def inject(stage, chance):
    return [stage.start("python3", stage.script("keep-all.py", KEEPER), PORT, name="crawler")]


def restore(stage):
    stage.forget_connections()
