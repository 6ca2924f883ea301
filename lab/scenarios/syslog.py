"""One of those who log has gone wrong and does so without a pause: the logger, which puts each line on the disk, only does its work."""
from resources import CPU, SWITCHING

GROUP = "real"
RESOURCE = "io"
FEATURES = CPU | SWITCHING | {"wait.peer", "wait.network", "net.tx_calls", "net.tx_bytes", "io.write_calls", "io.write_chars"}
CAUSE = "synced-writes"
TOLERABLE = {"cpu", "cpu-group", "disk-write", "kernel-work", "network-busy", "slow-reader", "waits-inside"}
NEEDS = ("python3",)
LOGGER = """import os, socket, sys
heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
heard.bind(sys.argv[1])
log = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
while True:
    os.write(log, heard.recv(4096))
    os.fdatasync(log)
"""
TELLER = """import socket, sys, time
log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
while True:
    log.sendto(b"a line of a log\\n" * int(sys.argv[3]), sys.argv[1])
    time.sleep(float(sys.argv[2]))
"""


def prepare(stage, chance):
    place = stage.work / "log-socket"
    place.unlink(missing_ok=True)
    stage.start("python3", stage.script("logger.py", LOGGER), place, stage.work / "log", name="logger")
    stage.watch(1)  # until it listens
    stage.start("python3", stage.script("tell.py", TELLER), place, 0.2, 1, name="well-behaved")


def inject(stage, chance):
    return [stage.start("python3", stage.script("chat.py", TELLER), stage.work / "log-socket", 0, chance.choice((1, 100)), name="chatty")]


def restore(stage):
    (stage.work / "log").unlink(missing_ok=True)
