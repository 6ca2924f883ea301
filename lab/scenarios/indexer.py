"""An indexer goes through all files: by name or by content."""
from resources import CHILDREN, CPU, READING, WRITING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | READING | WRITING
CAUSE = {"indexer": "file-index", "finder": "kernel-work"}
TOLERABLE = {"cpu", "disk-read", "file-index", "kernel-work", "many-small-reads"}
NEEDS = ("recollindex", "updatedb")


def make(stage):
    folder = stage.work / "recoll"
    folder.mkdir(exist_ok=True)
    # left alone it runs at nice 19, and slows nobody
    (folder / "recoll.conf").write_text("topdirs = /usr/share\nidxniceprio = 0\n")


def inject(stage, chance):
    name, command = chance.choice((
        ("indexer", f"rm -rf recoll/xapiandb; recollindex -c {stage.work}/recoll"),
        ("indexer", f"echo 2 >/proc/sys/vm/drop_caches; updatedb.plocate -U / -o {stage.work}/names --require-visibility 0"),
        ("finder", "echo 2 >/proc/sys/vm/drop_caches; find / -xdev -type f -size +1000000k")))
    return [stage.start("sh", "-c", f"while :; do {command}; done", name=name)]
