"""The cache server was restarted and reads its memory back: who waits for it waits for that."""
import life
from resources import CPU, MEMORY, READING

GROUP = "other"
RESOURCE = "cpu"
FEATURES = CPU | MEMORY | READING
NEEDS = ("redis-server",)
PRESS = (2, 3)


def inject(stage, chance):
    stage.stop(stage.actor("redis"))
    life.redis(stage)
    return [stage.actor("redis")]


def restore(stage):
    stage.stop(stage.actor("redis"))
    life.redis(stage)
    life.wait_for_redis(stage)
