"""A file is compiled again and again at nice 19: it takes what is left."""
import reported

GROUP = "harmless"
RESOURCE = "other"
GUILTY = "nobody"
FEATURES = set()
CAUSE = "nothing"
TOLERABLE = {"cpu-shared", "disk-shared"}
NEEDS = ("gcc",)


def inject(stage, chance):
    return reported.ordinary(stage, "niced-build", f"while :; do nice -n 19 gcc -O2 -c {stage.work}/code.c -o {stage.work}/niced.o; sleep 0.5; done")
