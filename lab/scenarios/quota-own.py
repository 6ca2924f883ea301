"""A program begins to compute in a control group that may use a fifth of a CPU: the shop in the same group waits with it."""
from resources import CPU
from stage import QUOTA

GROUP = "cpu"
RESOURCE = "cpu"
FEATURES = CPU | {"quota.throttled", "wait.quota"}
CAUSE = "quota-own"
TOLERABLE = set()


def prepare(stage, chance):
    stage.groups.set_quota(18)  # a little more than the shop needs


def inject(stage, chance):
    return [stage.start("burn", chance.choice((1, 2)), 100, name="report", group=QUOTA)]


def restore(stage):
    stage.groups.set_quota(None)
