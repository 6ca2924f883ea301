"""A user gives the film that is encoded at the lowest priority a better one than all others have: it does what it always does."""
import os
import pathlib

from resources import CPU, SWITCHING

GROUP = "cpu"
RESOURCE = "cpu"
FEATURES = CPU | SWITCHING | {"sched.nice"}
CAUSE = "priority"
TOLERABLE = {"cpu", "cpu-group", "cpu-shared", "itself"}


def renice(actor, nice):
    for task in pathlib.Path(f"/proc/{actor.process.pid}/task").glob("*"):
        os.setpriority(os.PRIO_PROCESS, int(task.name), nice)


def inject(stage, chance):
    encoder = stage.actor("encoder")
    renice(encoder, chance.choice((-10, -20)))
    return [encoder]


def restore(stage):
    renice(stage.actor("encoder"), 19)
