"""A check runs for a second, every five seconds, on all CPUs: in between all is well."""
from resources import CHILDREN, CPU, SWITCHING

GROUP = "other"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | SWITCHING
CAUSE = "cpu"
TOLERABLE = {"children", "cpu-group", "cpu-shared", "many-starts"}
NEEDS = ("openssl",)
PRESS = (8, 14)


def inject(stage, chance):
    once = f"timeout 1 openssl speed -seconds 60 -multi {chance.choice((4, 8))} sha256; sleep 4"
    return [stage.start("sh", "-c", f"while :; do {once}; done", name="health-check")]
