"""The index of all manual pages is rebuilt (mandb)."""
import shutil

from resources import CHILDREN, CPU, READING, SWITCHING, WRITING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | READING | WRITING | SWITCHING
CAUSE = "cpu"
TOLERABLE = {"children", "kernel-work", "many-starts"}
NEEDS = ("mandb",)


def prepare(stage, chance):
    (stage.work / "manuals/man1").mkdir(parents=True, exist_ok=True)
    stage.finish("cp", "-rn", chance.choice(("/usr/share/man", "/usr/share/man/man1")) + "/.", stage.work / "manuals/man1")


def inject(stage, chance):
    return [stage.start("sh", "-c", f"while :; do mandb --create --user-db --quiet {stage.work}/manuals; done", name="mandb")]


def restore(stage):
    shutil.rmtree(stage.work / "manuals", ignore_errors=True)
