"""A program with real-time priority computes: those with a normal one wait until it lets go."""
from resources import CPU, SWITCHING

GROUP = "cpu"
RESOURCE = "cpu"
FEATURES = CPU | SWITCHING | {"sched.policy"}
CAUSE = "real-time"
TOLERABLE = set()


def inject(stage, chance):
    player = stage.start("burn", chance.choice((1, 2)), chance.choice((60, 90)), name="player")
    stage.make_real_time(player, 20)
    return [player]
