"""A user measures how fast many threads take a few locks from each other (sysbench)."""
from resources import CPU, SWITCHING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | SWITCHING | {"threads.count"}
CAUSE = "cpu"
TOLERABLE = {"cpu-group", "threads", "kernel-work"}
NEEDS = ("sysbench",)


def inject(stage, chance):
    return [stage.start("sysbench", "threads", f"--threads={chance.choice((16, 64))}", f"--thread-locks={chance.choice((2, 8))}", "--time=600", "run")]
