"""A shell waits at its prompt for its user."""
import reported

GROUP = "harmless"
RESOURCE = "other"
GUILTY = "nobody"
FEATURES = set()
CAUSE = "nothing"
TOLERABLE = {"cpu-shared", "disk-shared"}
NEEDS = ("tmux",)


def inject(stage, chance):
    return reported.in_terminal(stage, "shell-at-prompt", "bash --norc -i")
