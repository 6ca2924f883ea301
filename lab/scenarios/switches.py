"""Programs hand each other next to nothing, as often as they can: the kernel switches between them without a pause."""
from resources import CPU, SWITCHING

GROUP = "cpu"
RESOURCE = "cpu"
FEATURES = CPU | SWITCHING | {"io.read_calls", "io.write_calls", "io.read_chars", "io.write_chars", "wait.peer", "wait.other", "wait.lock"}
CAUSE = "kernel-work"
TOLERABLE = {"cpu", "cpu-group"}


def inject(stage, chance):
    return [stage.start("stress-ng", chance.choice(("--switch", "--pipe", "--mq", "--sem")), chance.choice((1, 2)), "--quiet", name="chatter")]
