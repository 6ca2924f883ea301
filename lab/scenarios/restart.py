"""The cache server was restarted and reads its memory back: who waits for it waits for that."""
import life
from resources import CPU, MEMORY, READING

GROUP = "other"
RESOURCE = "cpu"
FEATURES = CPU | MEMORY | READING
CAUSE = "starting-up"
TOLERABLE = {"database-upkeep"}
NEEDS = ("redis-server",)
PRESS = (2, 3)


def inject(stage, chance):
    stage.stop(stage.actor("redis"))
    life.redis(stage)
    return [stage.actor("redis")]


def restore(stage):
    life.redis(stage)  # the one that was started here is stopped already
    life.wait_for_redis(stage)
