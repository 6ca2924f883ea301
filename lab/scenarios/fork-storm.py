"""A program forks without a pause."""
from resources import CHILDREN, CPU, FAULTS, SWITCHING

GROUP = "cpu"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | FAULTS | SWITCHING | {"threads.count", "mem.page_tables"}
CAUSE = "many-starts"
TOLERABLE = set()


def inject(stage, chance):
    return [stage.start("stress-ng", chance.choice(("--fork", "--vfork", "--clone")), chance.choice((2, 3)), "--quiet")]
