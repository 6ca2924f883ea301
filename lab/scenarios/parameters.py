"""The parameters of a key exchange are searched for (openssl dhparam): one process that computes for minutes."""
from resources import CPU

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU
CAUSE = "cpu"
TOLERABLE = {"cpu-group"}
NEEDS = ("openssl",)


def inject(stage, chance):
    bits = chance.choice((4096, 8192))
    return [stage.start("openssl", "dhparam", "-out", "/dev/null", bits) for _ in range(chance.choice((1, 2)))]
