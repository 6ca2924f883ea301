"""Nothing happens at all: the button is pressed without a reason."""
from harmless import CAUSE, FEATURES, GROUP, GUILTY, RESOURCE, TOLERABLE
import reported


def inject(stage, chance):
    return reported.ordinary(stage, "quiet", "exec sleep 300")
