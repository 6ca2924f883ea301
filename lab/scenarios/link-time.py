"""A big program is optimized as a whole when it is linked (gcc -flto)."""
import life
from resources import CHILDREN, CPU, FAULTS, MEMORY

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | FAULTS | MEMORY
CAUSE = "compile"
TOLERABLE = {"cpu", "cpu-group", "children"}
NEEDS = ("gcc",)


def make(stage):
    life.write_code(stage.work / "whole.c", 1500)


def inject(stage, chance):
    jobs = chance.choice((1, 3))
    whole = f"gcc -O2 -flto={jobs} -flto-partition=1to1 -shared {stage.work}/whole.o -o {stage.work}/whole.so"
    return [stage.start("sh", "-c", f"gcc -O0 -flto -fPIC -c {stage.work}/whole.c -o {stage.work}/whole.o; while :; do {whole}; done", name="release-build")]


def restore(stage):
    for name in ("whole.o", "whole.so"):
        (stage.work / name).unlink(missing_ok=True)
