"""A download fills a slow line to another machine: programs that ask that machine wait in the same queue."""
import time

from resources import NETWORK, READING, SWITCHING, WRITING
from stage import FAR_ADDRESS, SceneBroken

GROUP = "other"
RESOURCE = "network"
FEATURES = NETWORK | READING | WRITING | SWITCHING | {"handles.sockets", "wait.network"}
CAUSE = "network-busy"
TOLERABLE = set()
NEEDS = ("curl", "python3", "tc")
PORT = 18090
LINE = "rate 16mbit burst 32k latency 400ms"


def prepare(stage, chance):
    if not stage.slow_line(LINE):
        raise SceneBroken("there is no other machine, or its line cannot be made slow")
    stage.start("python3", "-m", "http.server", PORT, "--bind", FAR_ADDRESS, name="far-files", before=stage.in_far)


def inject(stage, chance):
    time.sleep(0.1)
    fetch = f"curl -s -o /dev/null http://{FAR_ADDRESS}:{PORT}/archive"
    return [stage.start("sh", "-c", " & ".join([fetch] * chance.choice((1, 3))) + "; wait", name="download")]


def restore(stage):
    stage.slow_line(None)
