"""A program begins to compute on one CPU as fast as it can."""
from resources import CPU

GROUP = "six"
RESOURCE = "cpu"
FEATURES = CPU
CAUSE = "cpu"
TOLERABLE = set()
HOGS = (("stress-ng", "--cpu", 1, "--cpu-method", "matrixprod", "--quiet"), ("openssl", "speed", "-seconds", 60, "sha512"),
        ("python3", "-c", "while True: sum(range(100000))"))


def inject(stage, chance):
    return [stage.start(*chance.choice(HOGS))]
