"""A name server of this machine asks another one, which answers two seconds late: who looks up names waits."""
import signal

from hangstage import NAME_SERVER

NEEDS = ("dnsmasq",)
VICTIM = "mail-client"
WAITS = {"peer", "remote", "network"}
FRONT, BACK = 18186, 18187
CLIENT = """import itertools, socket, sys, timed
number = itertools.count(1)
def look_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        asked.connect(("127.0.0.1", int(sys.argv[1])))
        asked.send((next(number) % 65536).to_bytes(2, "big") + bytes([1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 4]) + b"mail" + bytes([4]) + b"test" + bytes([0, 0, 1, 0, 1]))
        asked.recv(512)
timed.repeat(look_up)
"""


def prepare(stage):
    stage.start("far-names", NAME_SERVER, BACK)
    stage.run("dnsmasq", "-k", "--conf-file=/dev/null", "--pid-file=", f"--port={FRONT}", "--listen-address=127.0.0.1", "--bind-interfaces", "--no-resolv",
              "--no-hosts", "--cache-size=0", f"--server=127.0.0.1#{BACK}", "--user=root", name="resolver")
    stage.rest(1)
    stage.start("mail-client", CLIENT, FRONT)


def inject(stage):
    return [stage.signal("far-names", signal.SIGUSR1)]


def release(stage):
    stage.end("far-names")
