"""A program has asked its user whether to continue, and waits for the answer; a script waits for the program."""
from harmless import CAUSE, FEATURES, GROUP, GUILTY, RESOURCE, TOLERABLE
import reported

NEEDS = ("tmux",)


def inject(stage, chance):
    return reported.in_terminal(stage, "confirmation", "x=\\$(read -p 'sure? ' y; echo \\$y); echo \\$x")
