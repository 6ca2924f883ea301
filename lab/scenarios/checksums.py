"""The checksum of each file of a folder is taken, a program for each file (find, md5sum)."""
from resources import CHILDREN, CPU, READING, SWITCHING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | READING | SWITCHING
CAUSE = "many-starts"
TOLERABLE = {"children", "cpu", "cpu-group", "kernel-work"}


def inject(stage, chance):
    jobs = chance.choice((2, 4))
    return [stage.start("sh", "-c", f"while :; do find /usr/share -type f | xargs -P {jobs} -n 1 md5sum; done", name="auditor")]
