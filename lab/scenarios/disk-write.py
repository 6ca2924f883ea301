"""A program writes small pieces and asks for each to be on the disk before the next (fsync)."""
from resources import WRITING

GROUP = "six"
RESOURCE = "io"
FEATURES = WRITING
CAUSE = "synced-writes"
TOLERABLE = {"disk-write"}


def inject(stage, chance):
    return [stage.start("fio", "--name=ledger", f"--filename={stage.work}/ledger", "--rw=randwrite", f"--bs={chance.choice((4, 16))}k",
                        "--size=64m", "--fsync=1", "--time_based", "--runtime=300")]


def restore(stage):
    (stage.work / "ledger").unlink(missing_ok=True)
