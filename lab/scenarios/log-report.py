"""A script counts what is in a big log, several times at once (awk)."""
from resources import CPU, MEMORY, READING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | MEMORY | READING
CAUSE = "cpu"
TOLERABLE = {"cpu-group"}
NEEDS = ("awk",)


def make(stage):
    path = stage.work / "requests.log"
    if not path.exists():
        path.write_text("".join(f"10.1.{i % 251}.{i * 7 % 253} GET /item/{i * 2654435761 % 99991} {i * 31 % 4096}\n" for i in range(2000000)))


def inject(stage, chance):
    key = chance.choice(("$1", "$3"))
    once = f"awk '{{ bytes[{key}] += $4; seen[{key}]++ }} END {{ for (k in seen) print k, seen[k], bytes[k] }}' {stage.work}/requests.log | sort -k 2 -n"
    return [stage.start("sh", "-c", f"for i in $(seq {chance.choice((3, 4))}); do (while :; do {once}; done >/dev/null) & done; wait", name="traffic-report")]
