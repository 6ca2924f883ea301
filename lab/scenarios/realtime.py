"""A program with real-time priority computes: whoever has a usual one waits until it lets go."""
from resources import CPU, SWITCHING

GROUP = "cpu"
RESOURCE = "cpu"
FEATURES = CPU | SWITCHING | {"sched.policy"}
CAUSES = {"real-time"}


def inject(stage, chance):
    return [stage.start("stress-ng", "--cpu", chance.choice((1, 2)), "--cpu-load", chance.choice((60, 90)), "--sched",
                        chance.choice(("fifo", "rr")), "--sched-prio", 20, "--quiet", name="player")]
