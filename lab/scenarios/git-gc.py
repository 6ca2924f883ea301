"""git packs a big repository again."""
import life
from resources import CPU, MEMORY, READING, WRITING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | READING | WRITING | MEMORY
CAUSE = "version-control"
TOLERABLE = set()
NEEDS = ("git",)


def make(stage):
    life.make_repository(stage)


def inject(stage, chance):
    threads = chance.choice((1, 2, 4))
    return [stage.start("sh", "-c", f"while :; do git -c pack.threads={threads} gc --aggressive --prune=now; done", name="git",
                        folder=stage.work / "repository")]
