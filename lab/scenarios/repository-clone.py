"""A big repository is cloned again and again, as by a server that tests each change (git clone)."""
import shutil

import life
from resources import CHILDREN, CPU, MEMORY, READING, WRITING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | READING | WRITING | MEMORY
CAUSE = "version-control"
TOLERABLE = {"cpu", "cpu-group", "children"}
NEEDS = ("git",)


def make(stage):
    life.make_repository(stage)


def inject(stage, chance):
    once = f"git clone -q --no-local {stage.work}/repository {stage.work}/clone-$i; rm -rf {stage.work}/clone-$i"
    return [stage.start("sh", "-c", f"for i in $(seq {chance.choice((2, 3))}); do (while :; do {once}; done) & done; wait", name="tester")]


def restore(stage):
    for folder in stage.work.glob("clone-*"):
        shutil.rmtree(folder, ignore_errors=True)
