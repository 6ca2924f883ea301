"""A long list goes through a pipe into a pager, which waits for a key: who writes the list waits for the pager."""
from harmless import CAUSE, FEATURES, GROUP, GUILTY, RESOURCE, TOLERABLE
import reported

NEEDS = ("tmux", "less")


def inject(stage, chance):
    return reported.in_terminal(stage, "pager-on-pipe", "seq 3000000 | less")
