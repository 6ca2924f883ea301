"""A program writes small pieces and asks for each to be on the disk before the next (fsync)."""
GROUP = "six"
FEATURES = {"io.write_bytes", "io.write_chars", "io.write_calls", "delay.block", "delay.block_count"}


def inject(stage):
    return [stage.start("fio", "--name=ledger", f"--filename={stage.work}/ledger", "--rw=randwrite", "--bs=4k", "--size=64m",
                        "--fsync=1", "--time_based", "--runtime=300")]


def restore(stage):
    (stage.work / "ledger").unlink(missing_ok=True)
