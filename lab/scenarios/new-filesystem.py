"""A file system is made in an image, filled and checked (mkfs.ext4, e2fsck)."""
from resources import CPU, READING, WRITING

GROUP = "disk"
RESOURCE = "io"
FEATURES = CPU | WRITING | READING
CAUSE = "disk-write"
TOLERABLE = {"synced-writes", "written-faster-than-disk", "disk-read", "cpu", "many-starts", "children"}
NEEDS = ("mkfs.ext4", "e2fsck")


def inject(stage, chance):
    size, source = chance.choice(("2G", "4G")), chance.choice(("/usr/include", "/usr/share"))
    once = f"rm -f {stage.work}/new.img; mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 -d {source} {stage.work}/new.img {size}; e2fsck -f -y {stage.work}/new.img"
    return [stage.start("sh", "-c", f"while :; do {once}; done", name="formatter")]


def restore(stage):
    (stage.work / "new.img").unlink(missing_ok=True)
