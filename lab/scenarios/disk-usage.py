"""A script adds up again and again how much each folder takes (du): the kernel looks at each file."""
from resources import CPU, READING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | READING
CAUSE = "kernel-work"
TOLERABLE = {"cpu", "cpu-group", "many-small-reads", "many-starts", "children"}
NEEDS = ("du",)


def inject(stage, chance):
    at_once = chance.choice((2, 4))
    return [stage.start("sh", "-c", f"for i in $(seq {at_once}); do (while :; do du -s /usr /var/lib /etc; done) & done; wait", name="usage-report")]
