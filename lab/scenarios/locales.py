"""The data of a language is compiled again and again, as when locales are set up (localedef)."""
from resources import CHILDREN, CPU, FAULTS

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | FAULTS
CAUSE = "cpu"
TOLERABLE = {"children", "cpu-group", "many-starts", "updates"}
NEEDS = ("localedef",)


def inject(stage, chance):
    at_once = chance.choice((1, 3))
    one = f"while :; do localedef --no-archive -i {chance.choice(('de_DE', 'ja_JP'))} -f UTF-8 {stage.work}/locale-$i; done"
    return [stage.start("sh", "-c", f"for i in $(seq {at_once}); do ({one}) & done; wait", name="locale-gen")]
