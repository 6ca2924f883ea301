"""A program has asked its user whether to continue, and waits for the answer; a script waits for the program."""
import reported

GROUP = "harmless"
RESOURCE = "other"
GUILTY = "nobody"
FEATURES = set()
CAUSE = "nothing"
TOLERABLE = {"cpu-shared", "disk-shared"}
NEEDS = ("tmux",)


def inject(stage, chance):
    return reported.in_terminal(stage, "confirmation", "x=\\$(read -p 'sure? ' y; echo \\$y); echo \\$x")
