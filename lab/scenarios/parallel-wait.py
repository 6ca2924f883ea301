"""Several programs are started in parallel, and one of them takes longest: the others' shell waits for all."""
from harmless import CAUSE, FEATURES, GROUP, GUILTY, RESOURCE, TOLERABLE
import reported


def inject(stage, chance):
    return reported.ordinary(stage, "parallel-wait", "seq 2 4 30 | xargs -n 1 -P 8 sleep; true; sleep 300")
