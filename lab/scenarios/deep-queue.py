"""A program keeps the disk's queue full, past the page cache and without waiting for each request."""
from resources import CPU, READING, WRITING

GROUP = "disk"
RESOURCE = "io"
FEATURES = READING | WRITING | CPU
CAUSE = {"volume-read": "disk-read", "volume-randread": "many-small-reads", "volume-randwrite": "disk-write",
         "volume-randrw": "disk-both"}
TOLERABLE = {"cpu", "cpu-group", "disk-read", "disk-write", "kernel-work", "many-small-reads", "synced-writes"}
NEEDS = ("fio",)


def inject(stage, chance):
    how = chance.choice(("read", "randread", "randwrite", "randrw"))
    return [stage.start("fio", "--name=volume", f"--filename={stage.work}/volume", f"--rw={how}", "--direct=1", "--ioengine=libaio",
                        f"--iodepth={chance.choice((32, 128))}", "--bs=4k" if how == "randread" else f"--bs={chance.choice((4, 64))}k", "--time_based", "--runtime=300", name=f"volume-{how}")]


def make(stage):
    stage.file("volume", 1 << 30)
