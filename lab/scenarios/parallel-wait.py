"""Several programs are started in parallel, and one of them takes longest: the others' shell waits for all."""
import reported

GROUP = "harmless"
RESOURCE = "other"
GUILTY = "nobody"
FEATURES = set()
CAUSE = "nothing"
TOLERABLE = {"cpu-shared", "disk-shared"}


def inject(stage, chance):
    return reported.ordinary(stage, "parallel-wait", "seq 2 4 30 | xargs -n 1 -P 8 sleep; true; sleep 300")
