"""A user asks the cache server for all its keys, again and again: other programs that ask it wait for that."""
import life
from resources import CHILDREN, CPU, MEMORY, NETWORK, SWITCHING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | MEMORY | NETWORK | SWITCHING | {"io.read_chars", "io.write_chars", "io.read_calls", "io.write_calls"}
CAUSE = "database-upkeep"
TOLERABLE = {"cpu", "cpu-group", "itself", "network-busy"}
NEEDS = ("redis-server",)


def inject(stage, chance):
    question = chance.choice(("KEYS '*'", 'EVAL "for i=1,2e7 do end" 0'))
    ask = f"redis-cli -s {life.redis_socket(stage)} {question}"
    return [stage.actor("redis"), stage.start("sh", "-c", f"while :; do {ask}; done", name="auditor")]
