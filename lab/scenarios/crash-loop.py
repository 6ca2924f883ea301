"""A server that has much in memory crashes as soon as it is up, leaves its memory in a file (a core) and is started again."""
import shutil

from resources import CHILDREN, CPU, FAULTS, MEMORY, SWITCHING, WRITING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | FAULTS | MEMORY | SWITCHING | WRITING | {"io.cancelled_bytes"}
CAUSE = "kernel-work"
TOLERABLE = {"children", "cpu", "cpu-group", "disk-write", "many-starts", "page-faults", "written-faster-than-disk"}
NEEDS = ("python3",)


def inject(stage, chance):
    folder = stage.work / "crashes"
    folder.mkdir(exist_ok=True)
    server = f"import os; memory = os.urandom(1 << 20) * {chance.choice((200, 700))}; os.abort()"
    again = f"python3 -c '{server}'; n=$(((n + 1) % 4)); mv core core.$n"
    return [stage.start("sh", "-c", f"ulimit -c unlimited; while :; do {again}; done", name="supervisor", folder=folder)]


def restore(stage):
    shutil.rmtree(stage.work / "crashes", ignore_errors=True)
