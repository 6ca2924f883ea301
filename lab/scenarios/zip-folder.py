"""A folder is packed into an archive (zip)."""
from resources import CPU, READING, WRITING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | READING | WRITING
CAUSE = "compressing"
TOLERABLE = {"cpu", "cpu-group", "backup"}
NEEDS = ("zip",)


def inject(stage, chance):
    at_once = chance.choice((2, 3))
    one = f"while :; do zip -q -r -{chance.choice((6, 9))} - /usr/include /usr/share/doc >/dev/null; done"
    return [stage.start("sh", "-c", f"for i in $(seq {at_once}); do ({one}) & done; wait", name="packer")]
