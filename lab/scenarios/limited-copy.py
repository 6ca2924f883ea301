"""Files are copied at 2 MB/s on purpose, so that no other program feels it."""
from harmless import CAUSE, FEATURES, GROUP, GUILTY, RESOURCE, TOLERABLE
import reported

NEEDS = ("rsync",)


def inject(stage, chance):
    return reported.ordinary(stage, "limited-copy", f"rm -rf {stage.work}/limited; exec rsync -a --bwlimit=2000 /usr/share/doc/ {stage.work}/limited/")
