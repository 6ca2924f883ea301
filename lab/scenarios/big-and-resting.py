"""Two programs are new: one is the biggest of the machine in memory, threads and files, and rests; the other is small, and
writes each line to the disk before the next, or computes."""
from resources import CPU, SWITCHING, WRITING

GROUP = "other"
RESOURCE = {"statistics": "cpu", "journal": "io"}
FEATURES = CPU | SWITCHING | WRITING
CAUSE = {"statistics": "cpu", "journal": "synced-writes"}
TOLERABLE = {"cpu", "cpu-group", "cpu-shared", "disk-write", "synced-writes"}
FILLS = 12  # seconds until the big one has its memory: until then it does not rest


def prepare(stage, chance):
    stage.start("serve", 900, 15000, 2500, 60, name="store")
    stage.watch(FILLS)


def inject(stage, chance):
    if chance.random() < 0.5:
        return [stage.start("perl", "-e", "while (1) { $sum += sqrt $_ for 1 .. 1000 }", name="statistics") for _ in range(2)]
    once = "dd if=/dev/zero of=journal bs=4k count=20000 oflag=dsync conv=notrunc"
    return [stage.start("sh", "-c", f"while :; do {once}; done", name="journal")]


def restore(stage):
    (stage.work / "journal").unlink(missing_ok=True)
