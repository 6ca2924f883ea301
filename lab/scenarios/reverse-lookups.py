"""A server looks up the name of each client that connects. The name server, on another machine, loses the queries: the client waits for a greeting."""
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
PORT = 18416
PRESS = (8, 11)
SERVER = """import socket, sys
door = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=50)
while True:
    client, (address, _) = door.accept()
    try:
        name = socket.gethostbyaddr(address)[0]
    except OSError:
        name = address
    try:
        client.sendall(b"220 hello " + name.encode())
    except OSError:
        pass
    client.close()
"""
CLIENT = """import socket, sys, timed
def connect():
    server = socket.create_connection(("127.0.0.1", int(sys.argv[3])), timed.TIMEOUT, ("127.0.0.9", 0))
    while server.recv(100):
        pass
    server.close()
timed.repeat(connect, 0.2)
"""


def prepare(stage, chance):
    reported.name_server(stage, "names", FAR_ADDRESS, "--ptr-record=9.0.0.127.in-addr.arpa,client.lab.test", before=stage.in_far)
    stage.watch(1)
    stage.start("python3", stage.script("greeter.py", SERVER), PORT, name="greeter", before=reported.asking_name_server(stage, FAR_ADDRESS))
    stage.watch(1)  # until it listens
    victims.start(stage, "sender-of-mail", CLIENT, PORT)
    stage.watch(1)


def inject(stage, chance):
    reported.lose_in_far(stage, "-p", "udp", "--dport", "53")
    return []


def restore(stage):
    reported.lose_nothing_in_far(stage)
