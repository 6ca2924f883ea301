"""The control group of a server may use one thousandth of a CPU: it answers late, and no other program is the cause."""
import pathlib

NEEDS = ("redis-server",)
VICTIM = "score-board"
WAITS = {"peer", "remote", "network", "quota", "cpu"}
V1 = pathlib.Path("/sys/fs/cgroup/cpu")
GROUP = (V1 if V1.exists() else pathlib.Path("/sys/fs/cgroup")) / "whyslow-lab-limit"
CLIENT = """import socket, sys, timed
server = socket.socket(socket.AF_UNIX)
server.connect(sys.argv[1])
def ask():
    server.sendall(b"EVAL 'for i = 1, 100000 do end return 1' 0\\r\\n")
    server.recv(100)
timed.repeat(ask)
"""


def limit(microseconds):
    if V1.exists():
        (GROUP / "cpu.cfs_period_us").write_text("1000000")
        (GROUP / "cpu.cfs_quota_us").write_text(str(microseconds))
    else:
        (GROUP / "cpu.max").write_text(f"{microseconds} 1000000" if microseconds > 0 else "max 1000000")


def prepare(stage):
    GROUP.mkdir(exist_ok=True)
    server = stage.run("redis-server", "--port", 0, "--unixsocket", stage.folder / "scores", "--save", "", name="score-server")
    (GROUP / "cgroup.procs").write_text(str(server.process.pid))
    stage.rest(1)
    stage.start("score-board", CLIENT, stage.folder / "scores")


def inject(stage):
    limit(1000)
    return [stage.actor("score-server")]


def release(stage):
    limit(-1)
    stage.end("score-server")
    stage.rest(1)
    GROUP.rmdir()
