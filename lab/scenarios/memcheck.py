"""A program is tested for mistakes with memory, twenty times slower than it runs alone (valgrind)."""
from resources import CPU, FAULTS, MEMORY

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | FAULTS | MEMORY
CAUSE = "cpu"
TOLERABLE = {"cpu-group"}
NEEDS = ("valgrind",)


def inject(stage, chance):
    what = chance.choice(("grep -r -c e /usr/include", "gzip -9 -c /usr/bin/git"))
    return [stage.start("sh", "-c", f"while :; do valgrind -q {what} >/dev/null; done", name="memcheck")]
