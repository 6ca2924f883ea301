"""A clerk of low priority holds a lock when programs that begin to compute take the CPU from it: who waits for the lock
waits for them."""
from resources import CPU, SWITCHING

GROUP = "cpu"
RESOURCE = "cpu"
FEATURES = CPU | SWITCHING
CAUSE = "cpu"
TOLERABLE = {"cpu-group", "lock-holder"}


def inject(stage, chance):
    return [stage.start("stress-ng", "--cpu", chance.choice((3, 5)), "--cpu-method", "int64", "--quiet")]
