"""A user watches a program call by call (strace): each system call stops it until the tracer has written it down."""
from resources import CPU, LOCKS, SWITCHING, WRITING

GROUP = "other"
RESOURCE = "delay"
FEATURES = CPU | LOCKS | SWITCHING | WRITING
CAUSE = "stopped"
TOLERABLE = {"cpu", "cpu-group", "kernel-work", "lock", "lock-holder"}
NEEDS = ("strace",)


def inject(stage, chance):
    traced = stage.actor(chance.choice(("editor", "office"))).process.pid
    how = chance.choice(((), ("-T", "-y"), ("-c",)))
    return [stage.start("strace", "-f", *how, "-o", stage.work / "calls", "-p", traced)]


def restore(stage):
    (stage.work / "calls").unlink(missing_ok=True)
