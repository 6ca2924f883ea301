"""A backup keeps the file that a server locks for each request: the server's clients wait, and nothing computes."""
from resources import LOCKS, SWITCHING

GROUP = "other"
RESOURCE = "delay"
FEATURES = LOCKS | SWITCHING | {"wait.peer", "wait.network"}
CAUSE = "lock-held"
TOLERABLE = {"no-answer"}
NEEDS = ("perl", "python3")
SERVER = """import fcntl, os, socket, sys
with open(sys.argv[1], "a") as book, socket.socket() as door:
    door.bind(("127.0.0.1", 0))
    door.listen()
    with open(sys.argv[2] + ".new", "w") as port:
        port.write(str(door.getsockname()[1]))
    os.rename(sys.argv[2] + ".new", sys.argv[2])
    client, _ = door.accept()
    while client.recv(16):
        fcntl.flock(book, fcntl.LOCK_EX)
        fcntl.flock(book, fcntl.LOCK_UN)
        client.send(b"done")
"""
CLIENT = """use IO::Socket::INET; use Time::HiRes "sleep"; sleep 0.1 until -e $ARGV[0];
open my $file, "<", $ARGV[0]; my $port = <$file>; my $server = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port") or die;
while (1) { $server->send("order"); $server->recv(my $answer, 16); sleep 0.02; }"""
BACKUP = """import fcntl, sys, time
with open(sys.argv[1], "a") as book:
    fcntl.flock(book, fcntl.LOCK_EX)
    time.sleep(1000)
"""


def prepare(stage, chance):
    port = stage.work / "orders-port"
    port.unlink(missing_ok=True)
    stage.start("python3", "-c", SERVER, stage.work / "orders", port, name="order-server")
    stage.start("perl", "-e", CLIENT, port, name="order-client")


def inject(stage, chance):
    return [stage.start("python3", "-c", BACKUP, stage.work / "orders", name="backup")]
