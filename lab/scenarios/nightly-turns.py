"""Two nightly jobs share a lock so that they run one after the other: the second one waits for the first one's pause, as it should."""
from harmless import CAUSE, FEATURES, GROUP, GUILTY, RESOURCE, TOLERABLE
import reported

NEEDS = ("flock",)


def inject(stage, chance):
    return reported.ordinary(stage, "nightly-turns", f"flock {stage.work}/nightly sleep 200 & sleep 0.2; flock {stage.work}/nightly true")
