"""An indexer goes through all files: by name or by content."""
from resources import CHILDREN, CPU, READING, WRITING

GROUP = "real"
RESOURCE = "io"
FEATURES = CPU | CHILDREN | READING | WRITING
CAUSES = {"file-index", "many-small-reads", "disk-read", "cpu", "kernel-work"}
NEEDS = ("recollindex", "updatedb")


def make(stage):
    folder = stage.work / "recoll"
    folder.mkdir(exist_ok=True)
    # left alone it runs at nice 19, and slows nobody
    (folder / "recoll.conf").write_text("topdirs = /usr/share\nidxniceprio = 0\n")


def inject(stage, chance):
    command = chance.choice((f"rm -rf recoll/xapiandb; recollindex -c {stage.work}/recoll",
                             f"echo 2 >/proc/sys/vm/drop_caches; updatedb.plocate -U / -o {stage.work}/names --require-visibility 0",
                             "echo 2 >/proc/sys/vm/drop_caches; find / -xdev -type f -size +1000000k"))
    return [stage.start("sh", "-c", f"while :; do {command}; done", name="indexer")]
