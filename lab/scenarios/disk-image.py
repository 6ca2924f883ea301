"""A disk image is copied past the page cache, as a virtual machine is cloned (qemu-img)."""
from resources import CPU, READING, WRITING

GROUP = "tools"
RESOURCE = "io"
FEATURES = CPU | READING | WRITING
CAUSE = "disk-write"
TOLERABLE = {"disk-read", "synced-writes"}
NEEDS = ("qemu-img",)


def inject(stage, chance):
    at_once = chance.choice((4, 16))
    once = f"qemu-img convert -n -t none -T none -W -m {at_once} -f raw -O raw {stage.work}/archive {stage.work}/clone"
    return [stage.start("sh", "-c", f"truncate -s 4G {stage.work}/clone; while :; do {once}; done", name="cloner")]


def restore(stage):
    (stage.work / "clone").unlink(missing_ok=True)
