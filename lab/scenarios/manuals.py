"""The index of all manual pages is made anew (mandb)."""
import shutil

from resources import CHILDREN, CPU, READING, SWITCHING, WRITING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | READING | WRITING | SWITCHING
CAUSE = "cpu"
TOLERABLE = {"children", "kernel-work", "many-starts"}
NEEDS = ("mandb",)


def inject(stage, chance):
    folder = chance.choice(("/usr/share/man", "/usr/share/man/man1"))
    copies = f"mkdir -p {stage.work}/manuals/man1; cp -rn {folder}/. {stage.work}/manuals/man1/"
    return [stage.start("sh", "-c", f"{copies}; while :; do mandb --create --user-db --quiet {stage.work}/manuals; done", name="mandb")]


def restore(stage):
    shutil.rmtree(stage.work / "manuals", ignore_errors=True)
