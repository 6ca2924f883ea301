"""Files are copied at 2 MB/s on purpose, so that no other program feels it."""
import reported

GROUP = "harmless"
RESOURCE = "other"
GUILTY = "nobody"
FEATURES = set()
CAUSE = "nothing"
TOLERABLE = {"cpu-shared", "disk-shared"}
NEEDS = ("rsync",)


def inject(stage, chance):
    return reported.ordinary(stage, "limited-copy", f"rm -rf {stage.work}/limited; exec rsync -a --bwlimit=2000 /usr/share/doc/ {stage.work}/limited/")
