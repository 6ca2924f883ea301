"""A user compresses a big file."""
from resources import CPU, MEMORY, READING, SWITCHING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | READING | MEMORY | SWITCHING | {"threads.count"}
CAUSE = "compressing"
TOLERABLE = set()
NEEDS = ("xz", "bzip2")


def inject(stage, chance):
    program, *how = chance.choice((("xz", "-T2", "-k"), ("xz", "-9", "-k"), ("bzip2", "-k"), ("gzip", "-k")))
    return [stage.start(program, *how, "-c", stage.work / "archive", name="packing")]
