"""A server written in JavaScript keeps too much and spends its time collecting garbage."""
from resources import CPU, MEMORY, SWITCHING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | MEMORY | SWITCHING | {"threads.count"}
CAUSE = "cpu"
TOLERABLE = {"cpu-group", "memory-growth", "page-faults", "threads"}
NEEDS = ("node",)
PROGRAM = """const kept = new Map(); let n = 0;
for (;;) { kept.set(n % LIMIT, { name: 'customer ' + n, orders: Array.from({ length: 20 }, (_, i) => ({ i, n, text: 'x' + i + n })) }); n++; }"""


def inject(stage, chance):
    return [stage.start("node", "-e", PROGRAM.replace("LIMIT", str(chance.choice((50000, 300000)))), name="server")]
