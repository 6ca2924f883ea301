"""A server's control group may use little of a CPU, and a job in the same group uses it up: the server's client waits."""
import pathlib

VICTIM = "orders-page"
WAITS = {"quota", "cpu", "peer", "network", "remote"}
from hangstage import TCP_CLIENT, THREADED_SERVER

NEEDS = ()
PORT = 18203
ROOT = pathlib.Path("/sys/fs/cgroup/cpu")
GROUP = ROOT / "whyslow-lab-quota"
JOB = """while True:
    sum(range(1000))
"""


def prepare(stage):
    GROUP.mkdir(exist_ok=True)
    (GROUP / "cpu.cfs_quota_us").write_text("5000")
    server = stage.start("orders", "def before_answer():\n    pass\n" + THREADED_SERVER, PORT)
    (GROUP / "cgroup.procs").write_text(str(server.process.pid))
    stage.rest(2)
    stage.start("orders-page", TCP_CLIENT, PORT)


def inject(stage):
    jobs = [stage.start(f"export-{number}", JOB) for number in range(4)]
    for job in jobs:
        (GROUP / "cgroup.procs").write_text(str(job.process.pid))
    return jobs


def release(stage):
    for number in range(4):
        stage.end(f"export-{number}")
    stage.end("orders")
    stage.rest(1)
    GROUP.rmdir()
