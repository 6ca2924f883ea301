"""A file system is frozen, as for a snapshot, and not thawed: who writes there waits, and no program that is there is the cause."""
import subprocess

NEEDS = ("mkfs.ext4", "fsfreeze")
VICTIM = "diary"
WAITS = {"disk", "lock"}
CLIENT = """import os, sys, timed
page = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY | os.O_APPEND)
timed.repeat(lambda: os.write(page, b"dear diary\\n"))
"""


def prepare(stage):
    image, place = stage.folder / "snapshot.image", stage.mount_point("snapshot")
    with open(image, "wb") as file:
        file.truncate(64 << 20)
    stage.finish("mkfs.ext4", "-q", image)
    stage.finish("mount", "-o", "loop", image, place)
    stage.start("diary", CLIENT, place / "diary")


def inject(stage):
    stage.finish("fsfreeze", "-f", stage.folder / "snapshot")
    return []  # who froze it has ended


def release(stage):
    subprocess.run(["fsfreeze", "-u", stage.folder / "snapshot"], check=True)
    stage.end("diary")
