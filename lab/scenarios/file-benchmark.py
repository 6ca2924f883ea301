"""A user measures how many small writes the disk takes (sysbench), each of which is synced."""
from resources import CPU, SWITCHING, WRITING

GROUP = "disk"
RESOURCE = "io"
FEATURES = WRITING | CPU | SWITCHING
CAUSE = "synced-writes"
TOLERABLE = {"disk-write"}
NEEDS = ("sysbench",)


def make(stage):
    stage.finish("sysbench", "fileio", "--file-total-size=256M", "--file-num=8", "prepare", folder=stage.work)


def inject(stage, chance):
    threads = chance.choice((2, 8))
    return [stage.start("sysbench", "fileio", "--file-total-size=256M", "--file-num=8", "--file-test-mode=rndwr", "--file-fsync-freq=1",
                        f"--threads={threads}", "--time=1000", "run", name="disk-benchmark")]
