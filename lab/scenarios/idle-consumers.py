"""Four workers block on a queue of redis (BLPOP) that stays empty."""
from harmless import CAUSE, FEATURES, GROUP, GUILTY, RESOURCE, TOLERABLE
import life
import reported

NEEDS = ("redis-server",)


def inject(stage, chance):
    return reported.ordinary(stage, "idle-consumers", f"for i in 1 2 3 4; do redis-cli -s {life.redis_socket(stage)} BLPOP no-jobs-$i 0 & done; wait")
