"""Two programs begin at once, and both are culprits: one fills the disk's queue, the other computes."""
from resources import CPU, READING, SWITCHING

GROUP = "other"
RESOURCE = {"fio": "io", "openssl": "cpu"}
FEATURES = CPU | READING | SWITCHING
CAUSE = {"fio": "many-small-reads", "openssl": "cpu"}
TOLERABLE = {"cpu", "cpu-group", "cpu-shared", "disk-read", "disk-shared", "many-small-reads"}
NEEDS = ("fio", "openssl")


def inject(stage, chance):
    return [stage.start("fio", "--name=check", f"--filename={stage.work}/archive", "--rw=randread", "--bs=16k", "--ioengine=libaio", "--direct=1",
                        f"--iodepth={chance.choice((8, 32))}", "--readonly", "--time_based", "--runtime=300"),
            stage.start("openssl", "speed", "-seconds", 60, "-multi", chance.choice((2, 3)), "sha256")]
