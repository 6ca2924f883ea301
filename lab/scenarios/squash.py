"""A folder is packed into a compressed file system, as an installation image is made."""
from resources import CPU, MEMORY, READING, SWITCHING, WRITING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | MEMORY | READING | WRITING | SWITCHING | {"threads.count"}
CAUSE = "cpu"
TOLERABLE = {"compressing"}
NEEDS = ("mksquashfs",)


def inject(stage, chance):
    how = chance.choice(("-comp xz", "-comp zstd -Xcompression-level 19"))
    once = f"mksquashfs /usr/lib {stage.work}/squashed -noappend -quiet -no-progress {how} -processors {chance.choice((1, 2))}"
    return [stage.start("sh", "-c", f"while :; do {once}; done", name="image-maker")]


def restore(stage):
    (stage.work / "squashed").unlink(missing_ok=True)
