"""A monitoring script asks whyslow without a pause: whyslow itself is the culprit."""
import json
import time

from resources import CHILDREN, CPU, FAULTS, READING

GROUP = "other"
RESOURCE = "cpu"
FEATURES = CPU | FAULTS | CHILDREN | READING
CAUSE = "children"
TOLERABLE = {"cpu", "cpu-group", "many-starts"}


def inject(stage, chance):
    begin, end = json.loads((stage.kept / "baseline.json").read_text())[-1]
    moment = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime((begin + end) / 2))
    ask = f"{stage.whyslow} {chance.choice(('why', 'show'))} --from {stage.kept}/baseline.db --at '{moment}'"
    return [stage.start("sh", "-c", f"while :; do {ask}; done", name="monitoring")]
