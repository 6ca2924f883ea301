"""A shell waits at its prompt for its user."""
from harmless import CAUSE, FEATURES, GROUP, GUILTY, RESOURCE, TOLERABLE
import reported

NEEDS = ("tmux",)


def inject(stage, chance):
    return reported.in_terminal(stage, "shell-at-prompt", "bash --norc -i")
