"""Big documents are read and summed up (jq), each of them into memory as a whole."""
import json

from resources import CPU, FAULTS, MEMORY, READING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | MEMORY | FAULTS | READING
CAUSE = "cpu"
TOLERABLE = {"cpu-group"}
NEEDS = ("jq",)


def make(stage):
    path = stage.work / "orders.json"
    if not path.exists():
        path.write_text(json.dumps([{"order": i, "price": i * 37 % 1000, "where": f"shop {i % 50}", "lines": list(range(i % 9))} for i in range(300000)]))


def inject(stage, chance):
    question = chance.choice(("group_by(.where) | map({where: .[0].where, sum: map(.price) | add})", "sort_by(.price) | map(.lines | length) | add"))
    return [stage.start("sh", "-c", f"for i in $(seq {chance.choice((3, 4))}); do (while :; do jq '{question}' {stage.work}/orders.json; done >/dev/null) & done; wait",
                        name="sales-report")]
