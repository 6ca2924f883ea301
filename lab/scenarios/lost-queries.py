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
LOOKS_UP = """import itertools, socket, timed
number = itertools.count()
def look_up():
    try:
        socket.getaddrinfo(f"host{next(number)}.lab.test", 80)
    except socket.gaierror:
        pass
timed.repeat(look_up, 0.4)
"""


def prepare(stage, chance):
    stage.start("dnsmasq", "-k", "--conf-file=/dev/null", "--pid-file=", f"--listen-address={FAR_ADDRESS}", "--bind-interfaces", "--no-resolv", "--no-hosts",
                "--address=/lab.test/10.0.0.1", "--user=root", name="names", before=stage.in_far)
    settings = stage.script("resolv.conf", f"nameserver {FAR_ADDRESS}\n")
    stage.watch(1)
    victims.start(stage, "lookup", LOOKS_UP, before=("/usr/bin/unshare", "-m", "sh", "-c", f'mount --bind {settings} /etc/resolv.conf && exec "$@"', "sh"))
    stage.watch(1)


def inject(stage, chance):
    reported.lose_in_far(stage, "-p", "udp", "--dport", "53", "-m", "statistic", "--mode", "random", "--probability", "0.6")
    return []


def restore(stage):
    reported.lose_nothing_in_far(stage)
