"""A program begins to compute in a control group that may use a third of a CPU: the shop in the same group waits with it."""
from resources import CPU
from stage import QUOTA

GROUP = "cpu"
RESOURCE = "cpu"
FEATURES = CPU | {"quota.throttled", "wait.quota"}
CAUSES = {"quota-own"}


def prepare(stage, chance):
    stage.groups.set_quota(33)  # twice what the shop needs


def inject(stage, chance):
    return [stage.start("burn", chance.choice((1, 2)), 100, name="report", group=QUOTA)]


def restore(stage):
    stage.groups.set_quota(None)
