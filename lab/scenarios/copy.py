"""A folder of many files is copied, by name or as an archive."""
import shutil

from resources import CPU, MEMORY, READING, WRITING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | READING | WRITING | MEMORY | {"io.cancelled_bytes"}
CAUSE = "kernel-work"
TOLERABLE = {"backup", "cpu", "cpu-group", "disk-read", "disk-write", "many-small-reads", "written-faster-than-disk"}


def inject(stage, chance):
    folder = stage.work / "copy"
    folder.mkdir(exist_ok=True)
    command = chance.choice((f"cp -r /usr/share/doc /usr/include {folder}; rm -rf {folder}/*",
                             f"tar -cf {folder}/all.tar /usr/share; rm {folder}/all.tar",
                             f"cp -r /usr/lib {folder}; sync; rm -rf {folder}/*"))
    return [stage.start("sh", "-c", f"while :; do {command}; done", name="mover")]


def restore(stage):
    shutil.rmtree(stage.work / "copy", ignore_errors=True)
