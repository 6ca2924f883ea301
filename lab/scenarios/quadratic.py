"""An import compares each new line with all it has: it is quick in the beginning, and gets slower and slower."""
from resources import CPU, MEMORY

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | MEMORY
CAUSE = "cpu"
TOLERABLE = {"cpu-group", "cpu-shared"}
NEEDS = ("python3",)
PRESS = (31, 36)
PROGRAM = """import time
seen = []
while True:
    for line in range(60):
        if (line, len(seen)) not in seen:
            seen.append((line, len(seen)))
    time.sleep(0.02)
"""


def inject(stage, chance):
    return [stage.start("python3", stage.script("import.py", PROGRAM), name="import") for _ in range(chance.choice((2, 3)))]
