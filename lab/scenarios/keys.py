"""Keys are made, one after the other: a program that computes for a second, ends and is started again."""
from resources import CHILDREN, CPU, SWITCHING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | SWITCHING
CAUSE = "children"
TOLERABLE = {"cpu", "cpu-group", "many-starts"}
NEEDS = ("openssl",)


def inject(stage, chance):
    jobs, bits = chance.choice((2, 3)), chance.choice((2048, 4096))
    return [stage.start("sh", "-c", f"while :; do seq 9 | xargs -P {jobs} -I% openssl genrsa -out /dev/null {bits}; done", name="authority")]
