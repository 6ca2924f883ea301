"""A user watches the machine more than is good for it: ps or top, without a pause."""
from resources import CHILDREN, CPU, FAULTS, READING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | FAULTS | READING
CAUSE = "children"
TOLERABLE = {"cpu", "cpu-group", "kernel-work", "many-starts"}


def inject(stage, chance):
    once = chance.choice(("ps axuww", "ps axHo pid,comm,pcpu", "top -b -n 5 -d 0.01"))
    return [stage.start("sh", "-c", f"while :; do {once} >/dev/null; done", name="watcher")]
