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
LOOKS_UP = """import itertools, socket, timed
number = itertools.count()
def look_up():
    try:
        socket.getaddrinfo(f"shop{next(number)}.lab.test", 80)
    except socket.gaierror:
        pass
timed.repeat(look_up, 0.4)
"""


def resolver(stage, name, address, *options, before=()):
    stage.start("dnsmasq", "-k", "--conf-file=/dev/null", "--pid-file=", f"--listen-address={address}", "--bind-interfaces", "--no-resolv", "--no-hosts", "--user=root", *options,
                name=name, before=before)


def prepare(stage, chance):
    resolver(stage, "names", FAR_ADDRESS, "--address=/lab.test/10.0.0.1", before=stage.in_far)
    resolver(stage, "resolver", HERE, f"--server={FAR_ADDRESS}", "--cache-size=0")
    settings = stage.script("resolv.conf", f"nameserver {HERE}\n")
    stage.watch(1)
    victims.start(stage, "shop-lookup", LOOKS_UP, before=("/usr/bin/unshare", "-m", "sh", "-c", f'mount --bind {settings} /etc/resolv.conf && exec "$@"', "sh"))
    stage.watch(1)


def inject(stage, chance):
    reported.lose_in_far(stage, "-p", "udp", "--dport", "53")
    return []


def restore(stage):
    reported.lose_nothing_in_far(stage)
