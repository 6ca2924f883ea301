"""A program waits for files that change, and another one for what it says."""
import reported

GROUP = "harmless"
RESOURCE = "other"
GUILTY = "nobody"
FEATURES = set()
CAUSE = "nothing"
TOLERABLE = {"cpu-shared", "disk-shared"}
NEEDS = ("inotifywait",)


def inject(stage, chance):
    return reported.ordinary(stage, "watched-folder", f"mkdir -p {stage.work}/watched; inotifywait -q -m {stage.work}/watched | while read -r line; do echo $line; done")
