"""A program begins to compute on one CPU as fast as it can."""
GROUP = "six"
FEATURES = {"cpu.time", "cpu.user"}


def inject(stage):
    return [stage.start("stress-ng", "--cpu", 1, "--cpu-method", "matrixprod", "--quiet")]
