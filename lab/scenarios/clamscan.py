"""A virus scanner looks at all files."""
import random

from resources import CPU, MEMORY, READING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | READING | MEMORY
CAUSE = "virus-scan"
TOLERABLE = set()
NEEDS = ("clamscan",)


def make(stage):
    """Signatures of our own: there are as many as the scanner usually has to read."""
    path, chance = stage.work / "clam" / "lab.ndb", random.Random(1)
    path.parent.mkdir(exist_ok=True)
    if not path.exists():
        path.write_text("".join(f"Lab.{i}:0:*:{chance.randbytes(20).hex()}\n" for i in range(200000)))


def inject(stage, chance):
    return [stage.start("clamscan", "-d", stage.work / "clam", "-r", "-i", chance.choice(("/usr/lib", "/usr/share", "/usr/bin")))]
