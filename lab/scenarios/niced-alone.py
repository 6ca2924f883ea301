"""A program of nice 19 begins to compute, and the moment is marked although nothing is slow: there is no culprit."""
GROUP = "cpu"
RESOURCE = "other"
GUILTY = "nobody"
FEATURES = set()
CAUSE = "nothing"
TOLERABLE = {"cpu-shared", "disk-shared"}


def inject(stage, chance):
    stage.start("burn", chance.choice((1, 2)), 100, name="folding", nice=19)
    return []
