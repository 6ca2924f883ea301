"""A monitoring script was set up to ask whyslow without a pause: whyslow itself is guilty."""
from resources import CHILDREN, CPU, FAULTS, READING

GROUP = "other"
RESOURCE = "cpu"
FEATURES = CPU | FAULTS | CHILDREN | READING


def inject(stage, chance):
    question = chance.choice(("why --at -1s", "show --at -1s"))
    return [stage.start("sh", "-c", f"while :; do {stage.whyslow} {question} --from {stage.work}/baseline.db; done", name="monitoring")]
