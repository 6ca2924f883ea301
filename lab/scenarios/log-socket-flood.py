"""A program sends the same line to rsyslog's socket without a pause; the daemon syncs its file, and who logs four lines a quarter of a second waits."""
import victims
from resources import CPU, SWITCHING, WRITING

GROUP = "reported"
RESOURCE = "delay"
FEATURES = CPU | SWITCHING | WRITING | {"wait.peer", "wait.network", "wait.lock", "wait.other", "net.tx_calls", "net.tx_bytes"}
CAUSE = "slow-reader"
TOLERABLE = {"synced-writes", "cpu", "cpu-group", "kernel-work", "network-busy", "waits-inside", "disk-write"}
NEEDS = ("rsyslogd",)
CONFIGURATION = """module(load="imuxsock" SysSock.Use="off")
input(type="imuxsock" Socket="{folder}/log" RateLimit.Interval="0")
$ActionFileEnableSync on
*.* -{folder}/messages
*.* {folder}/messages.sync
"""
FLOOD = """import socket, sys
log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
log.connect(sys.argv[1])
while True:
    log.send(b"<13>app: connection lost, trying again")
"""
LOGS = """import socket, sys, timed
log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
log.settimeout(timed.TIMEOUT)
log.connect(sys.argv[3])
def say():
    for i in range(4):
        log.send(b"<13>shop: an order has come in")
timed.repeat(say, 0.25)
"""


def prepare(stage, chance):
    folder = stage.work / "rsyslog"
    folder.mkdir(exist_ok=True)
    (folder / "log").unlink(missing_ok=True)
    stage.start("rsyslogd", "-n", "-i", "NONE", "-f", stage.script("rsyslog.conf", CONFIGURATION.replace("{folder}", str(folder))), name="rsyslog")
    stage.watch(2)  # until it listens
    victims.start(stage, "logs", LOGS, folder / "log")
    stage.watch(1)


def inject(stage, chance):
    flood = stage.script("flood.py", FLOOD)
    return [stage.start("python3", flood, stage.work / "rsyslog/log", name=f"flood-{i}") for i in range(2)]


def restore(stage):
    for path in (stage.work / "rsyslog").glob("messages*"):
        path.unlink()
