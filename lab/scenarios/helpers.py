"""A desktop starts dozens of small helpers, each of which looks for news hundreds of times a second: none of them is big."""
from resources import CHILDREN, CPU, SWITCHING

GROUP = "other"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | SWITCHING | {"threads.count", "io.read_calls"}
CAUSE = "cpu"
TOLERABLE = {"children", "cpu-group", "cpu-shared", "kernel-work", "many-starts", "threads"}
NEEDS = ("perl",)
HELPER = "while (1) { stat($_) for glob '/etc/*'; select undef, undef, undef, 0.005; }"


def inject(stage, chance):
    helper = 'perl -e "$0" & '
    return [stage.start("sh", "-c", f"for i in $(seq {chance.choice((40, 80))}); do {helper} done; wait", HELPER, name="desktop")]
