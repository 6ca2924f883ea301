"""A log daemon is stopped: each logger(1) waits until there is room in its socket."""
import signal
import socket

NEEDS = ("logger",)
VICTIM = "logger"  # the client starts one for each request
WAITS = {"peer"}
DAEMON = """import socket, sys
door = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
door.bind(sys.argv[1])
while True:
    door.recv(65536)
"""
CLIENT = """import subprocess, sys, timed
timed.repeat_command(lambda: subprocess.run(["logger", "-d", "-u", sys.argv[1], "line"]))
"""


def prepare(stage):
    stage.start("syslog-like", DAEMON, stage.folder / "syslog")
    stage.rest(1)
    stage.start("backup-script", CLIENT, stage.folder / "syslog")


def inject(stage):
    stopped = stage.signal("syslog-like", signal.SIGSTOP)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as filler:  # its queue has room for a few seconds of lines
        filler.setblocking(False)
        try:
            while True:
                filler.sendto(b"line", str(stage.folder / "syslog"))
        except BlockingIOError:
            return [stopped]


def release(stage):
    stage.end("syslog-like")
