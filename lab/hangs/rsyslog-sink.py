"""rsyslog hands each line to a program that does not confirm it any more: it reads no more, and who logs waits for room."""
NEEDS = ("rsyslogd",)
VICTIM = "door-bell"
WAITS = {"peer"}
SINK = """#!/usr/bin/python3
import os, sys, time
print("OK", flush=True)
while sys.stdin.readline():
    if os.path.exists(sys.argv[1]):
        time.sleep(1000)
    print("OK", flush=True)
"""
CLIENT = """import socket, sys, timed
log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
log.connect(sys.argv[1])
timed.repeat(lambda: log.send(b"<13>Nov 23 12:00:00 door-bell: somebody rings"))
"""
SETTINGS = """module(load="imuxsock" SysSock.Use="off")
module(load="omprog")
main_queue(queue.type="Direct")
input(type="imuxsock" Socket="{folder}/doors")
action(type="omprog" binary="{folder}/archive-lines {folder}/late" confirmMessages="on" confirmTimeout="1000000")
"""


def prepare(stage):
    (stage.folder / "archive-lines").write_text(SINK)
    (stage.folder / "archive-lines").chmod(0o755)
    (stage.folder / "doors.conf").write_text(SETTINGS.format(folder=stage.folder))
    stage.run("rsyslogd", "-n", "-f", stage.folder / "doors.conf", "-i", stage.folder / "doors.pid", name="rsyslogd")
    stage.rest(1)
    stage.start("door-bell", CLIENT, stage.folder / "doors")


def inject(stage):
    (stage.folder / "late").touch()
    return [stage.program("archive-lines")]


def release(stage):
    stage.end("rsyslogd")
