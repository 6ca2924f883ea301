"""A job is started every moment by the clock, whether its last copy has ended or not: none of them is big, and there are ever more."""
from resources import CHILDREN, CPU, READING, SWITCHING

GROUP = "other"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | READING | SWITCHING | {"io.write_chars", "io.write_calls"}
CAUSE = "cpu"
TOLERABLE = {"backup", "children", "compressing", "cpu-group", "disk-read", "many-small-reads", "many-starts"}


def inject(stage, chance):
    job = chance.choice(("tar -cf - /usr/include | gzip -9 | wc -c", "find /usr/include -type f | xargs sha1sum | sort"))
    return [stage.start("sh", "-c", f"while :; do ({job}) >/dev/null & sleep {chance.choice((0.5, 0.8))}; done", name="crond")]
