"""A database of one's own writes through a mapping of its file, and has the kernel put every few pages on the disk (msync)."""
from resources import CPU, FAULTS, WRITING

GROUP = "disk"
RESOURCE = "io"
FEATURES = CPU | FAULTS | WRITING
CAUSE = "synced-writes"
TOLERABLE = {"cpu", "cpu-group", "disk-write", "kernel-work", "page-faults"}
NEEDS = ("fio",)
FILE = "mapped"


def inject(stage, chance):
    return [stage.start("fio", "--name=tree", f"--filename={stage.work}/{FILE}", "--ioengine=mmap", "--rw=randwrite", "--bs=4k",
                        f"--fsync={chance.choice((1, 8))}", f"--numjobs={chance.choice((1, 4))}", "--size=400m", "--time_based", "--runtime=300",
                        "--fallocate=none")]


def restore(stage):
    (stage.work / FILE).unlink(missing_ok=True)
