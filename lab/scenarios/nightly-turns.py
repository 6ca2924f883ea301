"""Two nightly jobs share a lock so that they run one after the other: the second one waits for the first one's pause, as it should."""
import reported

GROUP = "harmless"
RESOURCE = "other"
GUILTY = "nobody"
FEATURES = set()
CAUSE = "nothing"
TOLERABLE = {"cpu-shared", "disk-shared"}
NEEDS = ("flock",)


def inject(stage, chance):
    return reported.ordinary(stage, "nightly-turns", f"flock {stage.work}/nightly sleep 200 & sleep 0.2; flock {stage.work}/nightly true")
