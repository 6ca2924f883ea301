"""A program prints without a pause into a terminal that keeps what was printed (tmux): the terminal works more than the program."""
from resources import CPU, SWITCHING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | SWITCHING | {"wait.peer"}
CAUSE = "cpu-group"
TOLERABLE = {"cpu", "kernel-work"}
NEEDS = ("tmux",)


def inject(stage, chance):
    ask = f"tmux -S {stage.work}/terminal"
    windows = f"sleep 1; for i in $(seq {chance.choice((1, 3))}); do {ask} new-session -d -x 200 'yes a line that nobody reads'; done"
    return [stage.start("sh", "-c", f"rm -f {stage.work}/terminal; ({windows}) & exec {ask} -f /dev/null -D", name="terminal")]


def restore(stage):
    (stage.work / "terminal").unlink(missing_ok=True)
