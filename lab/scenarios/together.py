"""An office program saves a big document again and again, and the virus scanner reads each: slow only together."""
from resources import CPU, READING, WRITING

GROUP = "cpu"
RESOURCE = "cpu"
FEATURES = CPU | READING | WRITING
CAUSE = "cpu"
TOLERABLE = {"kernel-work", "virus-scan"}


def inject(stage, chance):
    author = stage.start("author", stage.work / "documents", chance.choice((8192, 24576)), 5, name="author")
    return [author, stage.actor("guard")]
