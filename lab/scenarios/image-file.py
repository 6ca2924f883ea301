"""A program writes to a file system in an image file: the kernel's worker for that uses the disk, and is not the culprit."""
from resources import CPU, WRITING

GROUP = "disk"
RESOURCE = "io"
FEATURES = CPU | WRITING | {"io.cancelled_bytes"}
CAUSE = {"guest": "synced-writes", "guest-in-pieces": "disk-write"}
TOLERABLE = {"disk-write", "kernel-work", "synced-writes", "written-faster-than-disk"}
NEEDS = ("fio", "mkfs.ext4", "losetup")


def make(stage):
    stage.file("image", 1 << 30)


def prepare(stage, chance):
    stage.mount_image(stage.work / "image")


def inject(stage, chance):
    name, *how = chance.choice((("guest", "--bs=16k", "--fsync=1"), ("guest-in-pieces", "--bs=1m", "--fsync=64")))
    return [stage.start("fio", "--name=guest", f"--filename={stage.image_folder}/disk", "--rw=write", *how, "--size=600m",
                        "--time_based", "--runtime=300", "--fallocate=none", name=name)]


def restore(stage):
    stage.unmount_image()
