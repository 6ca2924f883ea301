"""Somebody stopped the cache server to look at it, and forgot to let it go on: who asks it waits, and nothing computes."""
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
