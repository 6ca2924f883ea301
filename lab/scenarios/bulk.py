"""A program fills the cache server as fast as it can: the client is the culprit, the server only does what it is asked."""
import life
from resources import CPU, NETWORK, SWITCHING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | NETWORK | SWITCHING | {"io.read_calls", "io.write_calls", "io.read_chars", "io.write_chars", "handles.sockets"}
CAUSE = "cpu"
TOLERABLE = {"cpu-group", "kernel-work", "network-busy", "packet-flood"}
NEEDS = ("redis-benchmark",)


def inject(stage, chance):
    return [stage.start("redis-benchmark", "-s", life.redis_socket(stage), "-t", "set,get", "-c", chance.choice((10, 50)), "-P",
                        chance.choice((1, 16)), "-n", 100000000, "-r", 100000, "-q", name="import")]
