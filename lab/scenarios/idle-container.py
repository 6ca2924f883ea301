"""A container (namespaces of its own) has a first program that sleeps, and a shell that waits for it."""
import reported

GROUP = "harmless"
RESOURCE = "other"
GUILTY = "nobody"
FEATURES = set()
CAUSE = "nothing"
TOLERABLE = {"cpu-shared", "disk-shared"}
NEEDS = ("unshare",)


def inject(stage, chance):
    return reported.ordinary(stage, "idle-container", "unshare -mpfu --mount-proc bash -c 'sleep 300 & wait'")
