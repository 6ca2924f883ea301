"""A file is compiled again and again at nice 19: it takes what is left."""
from harmless import CAUSE, FEATURES, GROUP, GUILTY, RESOURCE, TOLERABLE
import reported

NEEDS = ("gcc",)


def inject(stage, chance):
    return reported.ordinary(stage, "niced-build", f"while :; do nice -n 19 gcc -O2 -c {stage.work}/code.c -o {stage.work}/niced.o; sleep 0.5; done")
