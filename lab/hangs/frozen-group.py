"""The control group of a server is frozen, as snapshots and container tools do: its clients wait."""
import pathlib

NEEDS = ("redis-server",)
VICTIM = "session-page"
WAITS = {"peer", "remote", "network"}
ROOT = next(path for path in map(pathlib.Path, ("/sys/fs/cgroup/freezer", "/sys/fs/cgroup/unified", "/sys/fs/cgroup")) if path.exists())
GROUP = ROOT / "whyslow-lab-hang"
STATE, FROZEN, THAWED = ("freezer.state", "FROZEN", "THAWED") if ROOT.name == "freezer" else ("cgroup.freeze", "1", "0")
CLIENT = """import socket, sys, timed
server = socket.socket(socket.AF_UNIX)
server.connect(sys.argv[1])
def ask():
    server.sendall(b"PING\\r\\n")
    server.recv(100)
timed.repeat(ask)
"""


def prepare(stage):
    GROUP.mkdir(exist_ok=True)
    server = stage.run("redis-server", "--port", 0, "--unixsocket", stage.folder / "sessions", "--save", "", name="sessions")
    (GROUP / "cgroup.procs").write_text(str(server.process.pid))
    stage.rest(1)
    stage.start("session-page", CLIENT, stage.folder / "sessions")


def inject(stage):
    (GROUP / STATE).write_text(FROZEN)
    return [stage.actor("sessions")]


def release(stage):
    (GROUP / STATE).write_text(THAWED)
    stage.end("sessions")
    stage.rest(1)
    GROUP.rmdir()
