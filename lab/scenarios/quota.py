"""The CPU quota of a control group is lowered below what the shop in it needs: the limit is the culprit, not a program."""
from resources import CPU

GROUP = "cpu"
RESOURCE = "cpu"
GUILTY = "limit"
FEATURES = CPU | {"quota.throttled", "wait.quota", "cgroup.throttled", "cgroup.throttles"}
CAUSE = "quota"
TOLERABLE = set()


def inject(stage, chance):
    stage.groups.set_quota(chance.choice((3, 5, 7)))
    return []


def restore(stage):
    stage.groups.set_quota(None)
