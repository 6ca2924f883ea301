"""A long list goes through a pipe into a pager, which waits for a key: who writes the list waits for the pager."""
import reported

GROUP = "harmless"
RESOURCE = "other"
GUILTY = "nobody"
FEATURES = set()
CAUSE = "nothing"
TOLERABLE = {"cpu-shared", "disk-shared"}
NEEDS = ("tmux", "less")


def inject(stage, chance):
    return reported.in_terminal(stage, "pager-on-pipe", "seq 3000000 | less")
