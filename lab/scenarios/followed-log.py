"""A log is followed through a filter, and nothing is written to it."""
import reported

GROUP = "harmless"
RESOURCE = "other"
GUILTY = "nobody"
FEATURES = set()
CAUSE = "nothing"
TOLERABLE = {"cpu-shared", "disk-shared"}


def inject(stage, chance):
    return reported.ordinary(stage, "followed-log", f"touch {stage.work}/quiet.log; tail -n 0 -f {stage.work}/quiet.log | grep --line-buffered error | while read -r line; do echo $line; done")
