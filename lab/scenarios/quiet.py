"""Nothing happens at all: the button is pressed without a reason."""
import reported

GROUP = "harmless"
RESOURCE = "other"
GUILTY = "nobody"
FEATURES = set()
CAUSE = "nothing"
TOLERABLE = {"cpu-shared", "disk-shared"}


def inject(stage, chance):
    return reported.ordinary(stage, "quiet", "exec sleep 300")
