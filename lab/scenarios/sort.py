"""A big text is sorted, piece by piece beside the memory it may take."""
from resources import CPU, MEMORY, READING, SWITCHING, WRITING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | READING | WRITING | MEMORY | SWITCHING | {"threads.count"}
CAUSE = "cpu"
TOLERABLE = {"cpu-group", "disk-read", "disk-write", "written-faster-than-disk"}


def make(stage):
    path = stage.work / "numbers"
    if not path.exists():
        path.write_text("".join(f"{(i * 2654435761) % 4294967296:010d} a line of a log that nobody reads\n" for i in range(5000000)))


def inject(stage, chance):
    folder = stage.work / "sorting"
    folder.mkdir(exist_ok=True)
    command = f"sort --parallel={chance.choice((1, 2))} -S {chance.choice((20, 200))}M -T {folder} {stage.work}/numbers -o /dev/null"
    return [stage.start("sh", "-c", f"while :; do {command}; done", name="report")]


def restore(stage):
    for path in (stage.work / "sorting").iterdir():
        path.unlink()
