"""A program writes as fast as memory allows, and the kernel's workers have to write it to the disk: the workers are not the culprits."""
from resources import CPU, WRITING

GROUP = "disk"
RESOURCE = "io"
FEATURES = CPU | WRITING | {"io.cancelled_bytes"}
CAUSE = "written-faster-than-disk"
TOLERABLE = {"disk-write", "kernel-work"}
NEEDS = ("fio",)


def inject(stage, chance):
    flood = stage.work / "flood"
    if chance.random() < 0.5:
        return [stage.start("dd", "if=/dev/zero", f"of={flood}", "bs=1M", "count=40000")]
    return [stage.start("fio", "--name=copy", f"--filename={flood}", "--rw=write", "--bs=1m", "--size=6g", "--time_based",
                        "--runtime=300", "--fallocate=none")]


def restore(stage):
    (stage.work / "flood").unlink(missing_ok=True)
