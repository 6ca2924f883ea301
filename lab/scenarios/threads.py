"""A program starts hundreds of threads, each of which wakes up all the time."""
from resources import CPU, SWITCHING

GROUP = "six"
RESOURCE = "threads"
FEATURES = CPU | SWITCHING | {"threads.count"}
CAUSE = "threads"
TOLERABLE = set()


def inject(stage, chance):
    return [stage.start("swarm", chance.choice((400, 700)), 150, 10)]
