"""A program floods the network of the machine itself with small packets."""
from resources import CPU, NETWORK, SWITCHING

GROUP = "cpu"
RESOURCE = "cpu"
FEATURES = CPU | NETWORK | SWITCHING | {"delay.irq", "handles.sockets", "io.write_calls", "io.read_calls"}
CAUSE = "packet-flood"
TOLERABLE = {"kernel-work", "network-busy"}
NEEDS = ("stress-ng",)
FLOODS = (("--udp-flood", 1), ("--udp", 1), ("--sock", 1))


def inject(stage, chance):
    return [stage.start("stress-ng", *chance.choice(FLOODS), "--quiet")]
