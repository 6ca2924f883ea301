"""All objects of a big repository are checked (git fsck)."""
import life
from resources import CPU, MEMORY, READING, SWITCHING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | READING | MEMORY | SWITCHING
CAUSE = "version-control"
TOLERABLE = {"cpu", "cpu-group"}
NEEDS = ("git",)


def make(stage):
    life.make_repository(stage)


def inject(stage, chance):
    at_once = chance.choice((1, 3))
    return [stage.start("sh", "-c", f"for i in $(seq {at_once}); do (while :; do git fsck --full --strict; done) & done; wait", name="object-check",
                        folder=stage.work / "repository")]
