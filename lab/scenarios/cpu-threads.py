"""A program begins to compute with several threads at once."""
from resources import CPU, SWITCHING

GROUP = "cpu"
RESOURCE = "cpu"
FEATURES = CPU | SWITCHING
CAUSE = "cpu"
TOLERABLE = {"cpu-group"}
HOGS = (("stress-ng", "--cpu", 4, "--cpu-method", "fft", "--quiet"), ("openssl", "speed", "-seconds", 60, "-multi", 3, "rsa2048"),
        ("sysbench", "cpu", "--threads=6", "--time=100", "run"))
NEEDS = ("sysbench",)


def inject(stage, chance):
    return [stage.start(*chance.choice(HOGS))]
