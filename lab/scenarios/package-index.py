"""The index of all packages is made anew, again and again (apt-cache)."""
import shutil

from resources import CPU, FAULTS, MEMORY, READING, WRITING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | MEMORY | FAULTS | READING | WRITING
CAUSE = "updates"
TOLERABLE = {"cpu", "cpu-group", "many-starts", "children"}
NEEDS = ("apt-cache",)


def inject(stage, chance):
    at_once = chance.choice((1, 3))
    one = f"mkdir -p {stage.work}/index-$i; while :; do rm -f {stage.work}/index-$i/*; apt-cache -o Dir::Cache={stage.work}/index-$i gencaches; done"
    return [stage.start("sh", "-c", f"for i in $(seq {at_once}); do ({one}) & done; wait", name="index-job")]


def restore(stage):
    for folder in stage.work.glob("index-*"):
        shutil.rmtree(folder, ignore_errors=True)
