"""A program touches a lot of memory over and over, as a virtual machine or a big computation does."""
from resources import CPU, FAULTS, MEMORY, SWITCHING

GROUP = "memory"
RESOURCE = "cpu"
FEATURES = CPU | MEMORY | FAULTS | SWITCHING
CAUSE = "cpu"
TOLERABLE = {"cpu-group", "kernel-work", "memory-growth", "page-faults"}


def inject(stage, chance):
    return [stage.start("stress-ng", chance.choice(("--vm", "--mmap", "--stream")), chance.choice((2, 3)), "--temp-path", stage.work, "--quiet",
                        name="guest")]
