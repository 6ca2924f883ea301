"""The headers of a library are searched for mistakes, with several jobs (cppcheck)."""
from resources import CPU, MEMORY, READING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | READING | MEMORY
CAUSE = "cpu"
TOLERABLE = {"compile", "cpu-group"}
NEEDS = ("cppcheck",)


def inject(stage, chance):
    jobs = chance.choice((2, 4))
    return [stage.start("sh", "-c", f"while :; do cppcheck -q -j{jobs} --language=c --force /usr/include/linux; done", name="checker")]
