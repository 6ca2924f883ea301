"""The network loses what a server answers: its client's requests are sent again and again, and no program here is the cause."""
import subprocess

NEEDS = ("ip",)
VICTIM = "sync-client"
WAITS = {"remote", "network"}
SPACE, ADDRESS, PORT = "whyslow-hang", "10.213.77.2", 18173
SERVER = """import socket, sys
door = socket.create_server((sys.argv[1], int(sys.argv[2])))
while True:
    client, _ = door.accept()
    while client.recv(16):
        client.sendall(b"done")
"""
CLIENT = """import socket, sys, timed
server = socket.create_connection((sys.argv[1], int(sys.argv[2])))
def ask():
    server.sendall(b"order")
    server.recv(16)
timed.repeat(ask)
"""


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def prepare(stage):
    subprocess.run(["ip", "netns", "del", SPACE], stderr=subprocess.DEVNULL)
    ip("netns", "add", SPACE)
    ip("link", "add", "whyslow-h0", "type", "veth", "peer", "name", "whyslow-h1", "netns", SPACE)
    ip("address", "add", "10.213.77.1/24", "dev", "whyslow-h0")
    ip("link", "set", "whyslow-h0", "up")
    ip("-n", SPACE, "address", "add", f"{ADDRESS}/24", "dev", "whyslow-h1")
    ip("-n", SPACE, "link", "set", "whyslow-h1", "up")
    (stage.folder / "far-server.py").write_text(SERVER)
    stage.run("ip", "netns", "exec", SPACE, stage.find("python3"), stage.folder / "far-server.py", ADDRESS, PORT, name="far-server")
    stage.rest(2)
    stage.start("sync-client", CLIENT, ADDRESS, PORT)


def inject(stage):
    ip("-n", SPACE, "route", "add", "blackhole", "10.213.77.1")
    return []  # no program is the cause


def release(stage):
    stage.end("far-server")
    ip("netns", "del", SPACE)  # and with it both ends of the line
