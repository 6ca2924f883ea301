"""A program reads here and there in a big file, several requests at a time, at little CPU."""
from resources import READING

GROUP = "disk"
RESOURCE = "io"
FEATURES = READING
CAUSE = "many-small-reads"
TOLERABLE = {"disk-read"}
NEEDS = ("fio",)


def inject(stage, chance):
    return [stage.start("fio", "--name=lookup", f"--filename={stage.work}/archive", "--rw=randread", "--bs=4k", "--direct=1",
                        "--readonly", "--ioengine=psync", "--thread", f"--numjobs={chance.choice((4, 8, 16))}", "--time_based",
                        "--runtime=300", name="fio")]
