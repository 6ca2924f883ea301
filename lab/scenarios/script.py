"""A script of one's own computes: what runs is an interpreter, what is meant is the script."""
from resources import CPU

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU
CAUSE = "cpu"
TOLERABLE = {"cpu-group", "cpu-shared"}


def inject(stage, chance):
    path = stage.work / "statistics.pl"
    path.write_text("my $sum = 0;\nwhile (1) { $sum += sqrt($_) for 1 .. 1000; }\n")
    return [stage.start("perl", path, name="script") for _ in range(chance.choice((1, 2, 3)))]
