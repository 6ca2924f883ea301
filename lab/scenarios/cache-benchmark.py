"""A user measures a cache server of their own (redis-benchmark)."""
from resources import CPU, NETWORK, SWITCHING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | NETWORK | SWITCHING | {"handles.sockets"}
CAUSE = "cpu-group"
TOLERABLE = {"cpu", "kernel-work", "packet-flood"}
NEEDS = ("redis-benchmark", "redis-server")
PORT = 18182


def inject(stage, chance):
    server = stage.start("redis-server", "--port", PORT, "--save", "", name="test-cache")
    client = stage.start("sh", "-c", f"sleep 1; redis-benchmark -q -p {PORT} -c {chance.choice((20, 100))} -n 100000000 -t set,get >/dev/null", name="benchmark")
    return [client, server]
