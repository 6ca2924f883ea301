"""A program waits for files that change, and another one for what it says."""
from harmless import CAUSE, FEATURES, GROUP, GUILTY, RESOURCE, TOLERABLE
import reported

NEEDS = ("inotifywait",)


def inject(stage, chance):
    return reported.ordinary(stage, "watched-folder", f"mkdir -p {stage.work}/watched; inotifywait -q -m {stage.work}/watched | while read -r line; do echo $line; done")
