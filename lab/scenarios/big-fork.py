"""A server with much in memory starts a process for each question, and the kernel copies the tables of all its pages each time."""
from resources import CHILDREN, CPU, FAULTS, MEMORY

GROUP = "memory"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | FAULTS | MEMORY
CAUSE = "kernel-work"
TOLERABLE = {"children", "cpu", "cpu-group", "many-starts", "page-faults"}
NEEDS = ("python3",)
PROGRAM = """import mmap, os, sys
memory = mmap.mmap(-1, int(sys.argv[1]) << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_NOHUGEPAGE)
for at in range(0, len(memory), 4096):
    memory[at] = 1
while True:
    children = [os.fork() or os._exit(0) for _ in range(2)]
    for child in children:
        os.waitpid(child, 0)
"""


def inject(stage, chance):
    return [stage.start("python3", stage.script("report-server.py", PROGRAM), chance.choice((500, 1000)), name="report-server")]
