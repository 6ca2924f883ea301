"""Of the queries to the name server, on another machine, 60 % get lost there: each lookup may wait five seconds for its second try."""
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
PRESS = (9, 14)


def prepare(stage, chance):
    reported.name_server(stage, "names", FAR_ADDRESS, "--address=/lab.test/10.0.0.1", before=stage.in_far)
    stage.watch(1)
    victims.start(stage, "lookup", reported.LOOKS_UP, before=reported.asking_name_server(stage, FAR_ADDRESS))
    stage.watch(1)


def inject(stage, chance):
    reported.lose_in_far(stage, "-p", "udp", "--dport", "53", "-m", "statistic", "--mode", "random", "--probability", "0.6")
    return []


def restore(stage):
    reported.lose_nothing_in_far(stage)
