"""A user measures how fast memory is (sysbench)."""
from resources import CPU, MEMORY

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | MEMORY
CAUSE = "cpu"
TOLERABLE = {"cpu-group", "threads"}
NEEDS = ("sysbench",)


def inject(stage, chance):
    return [stage.start("sysbench", "memory", f"--threads={chance.choice((3, 6))}", f"--memory-oper={chance.choice(('read', 'write'))}", "--memory-block-size=64M",
                        "--memory-total-size=100000G", "--time=600", "run")]
