"""A log is followed through a filter, and nothing is written to it."""
from harmless import CAUSE, FEATURES, GROUP, GUILTY, RESOURCE, TOLERABLE
import reported


def inject(stage, chance):
    return reported.ordinary(stage, "followed-log", f"touch {stage.work}/quiet.log; tail -n 0 -f {stage.work}/quiet.log | grep --line-buffered error | while read -r line; do echo $line; done")
