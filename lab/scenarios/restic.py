"""A backup is made, of everything and for the first time."""
import shutil

from resources import CPU, MEMORY, READING, SWITCHING, WRITING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | READING | WRITING | MEMORY | SWITCHING
CAUSE = "backup"
TOLERABLE = set()
NEEDS = ("restic",)


def inject(stage, chance):
    what = chance.choice(("/usr/lib", "/usr/bin /usr/share"))
    command = f"rm -rf restic; restic -q --no-cache init; restic -q --no-cache backup {what}"
    return [stage.start("sh", "-c", f"export RESTIC_REPOSITORY={stage.work}/restic RESTIC_PASSWORD=lab; while :; do {command}; done",
                        name="restic")]


def restore(stage):
    shutil.rmtree(stage.work / "restic", ignore_errors=True)
