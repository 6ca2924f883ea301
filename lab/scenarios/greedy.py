"""A program computes at a higher priority than all others (nice -15): programs of normal priority get what it leaves."""
from resources import CPU, SWITCHING

GROUP = "cpu"
RESOURCE = "cpu"
FEATURES = CPU | SWITCHING
CAUSE = "priority"
TOLERABLE = {"cpu", "cpu-group", "cpu-shared"}


def inject(stage, chance):
    return [stage.start("burn", chance.choice((2, 4)), chance.choice((80, 100)), name="converter", nice=-15)]
