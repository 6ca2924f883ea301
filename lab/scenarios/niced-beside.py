"""A program of nice 19 begins to compute and is a bystander: it only takes what is left. In addition another begins to compute
on one CPU, or to write, at normal priority."""
from resources import CPU, WRITING

GROUP = "cpu"
RESOURCE = {"xz": "cpu", "fio": "io"}
FEATURES = CPU | WRITING
CAUSE = {"xz": "compressing", "fio": "synced-writes"}
TOLERABLE = {"compressing", "disk-write", "synced-writes"}
NEEDS = ("xz", "fio")


def inject(stage, chance):
    stage.start("burn", 2, 100, name="folding", nice=19)
    if chance.random() < 0.5:
        return [stage.start("sh", "-c", f"exec xz -6 -T1 -c {stage.work}/archive", name="xz")]
    return [stage.start("fio", "--name=ledger", f"--filename={stage.work}/ledger", "--rw=randwrite", "--bs=4k", "--size=64m",
                        "--fsync=1", "--time_based", "--runtime=300", name="fio")]


def restore(stage):
    (stage.work / "ledger").unlink(missing_ok=True)
