"""A container (namespaces of its own) has a first program that sleeps, and a shell that waits for it."""
from harmless import CAUSE, FEATURES, GROUP, GUILTY, RESOURCE, TOLERABLE
import reported

NEEDS = ("unshare",)


def inject(stage, chance):
    return reported.ordinary(stage, "idle-container", "unshare -mpfu --mount-proc bash -c 'sleep 300 & wait'")
