"""A user stopped the cache server and forgot to continue it: programs that ask it wait, and nothing computes."""
import signal

from resources import LOCKS, SWITCHING

GROUP = "other"
RESOURCE = "delay"
FEATURES = LOCKS | SWITCHING | {"wait.peer", "wait.network"}
CAUSE = "no-answer"
TOLERABLE = set()
NEEDS = ("redis-server",)


def inject(stage, chance):
    redis = stage.actor("redis")
    redis.process.send_signal(signal.SIGSTOP)
    return [redis]


def restore(stage):
    stage.actor("redis").process.send_signal(signal.SIGCONT)
