"""Names are looked up by a resolver on this machine, which asks another one. That one does not answer any more: each lookup waits, for the resolver as it seems."""
import reported
import victims
from stage import FAR_ADDRESS

GROUP = "reported"
RESOURCE = "network"
GUILTY = "remote"
FEATURES = set()
CAUSE = "remote"
TOLERABLE = {"no-answer", "packets-lost"}
NEEDS = ("dnsmasq", "iptables", "unshare")
PRESS = (8, 11)
HERE = "127.0.0.77"


def prepare(stage, chance):
    reported.name_server(stage, "names", FAR_ADDRESS, "--address=/lab.test/10.0.0.1", before=stage.in_far)
    reported.name_server(stage, "resolver", HERE, f"--server={FAR_ADDRESS}", "--cache-size=0")
    stage.watch(1)
    victims.start(stage, "shop-lookup", reported.LOOKS_UP, before=reported.asking_name_server(stage, HERE))
    stage.watch(1)


def inject(stage, chance):
    reported.lose_in_far(stage, "-p", "udp", "--dport", "53")
    return []


def restore(stage):
    reported.lose_nothing_in_far(stage)
