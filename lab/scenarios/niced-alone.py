"""A program of nice 19 begins to compute, and somebody presses the button all the same: nobody is guilty."""
GROUP = "cpu"
RESOURCE = "other"
GUILTY = "nobody"
FEATURES = set()
CAUSE = "nothing"
TOLERABLE = {"cpu-shared", "disk-shared"}


def inject(stage, chance):
    stage.start("burn", chance.choice((1, 2)), 100, name="folding", nice=19)
    return []
