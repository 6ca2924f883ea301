"""A script starts one small program after the other, none of which lives for more than some milliseconds."""
from resources import CHILDREN, CPU, FAULTS

GROUP = "cpu"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | FAULTS
CAUSE = "many-starts"
TOLERABLE = set()
SCRIPTS = ("while :; do /bin/true; done", "while :; do expr 1 + 1 | cat; done", "while :; do date | md5sum | cut -c1-4; done")


def inject(stage, chance):
    return [stage.start("sh", "-c", chance.choice(SCRIPTS), name="script")]
