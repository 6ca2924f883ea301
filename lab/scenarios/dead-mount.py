"""A folder is mounted over SSH from another machine, which loses all packets of that connection: who lists the folder or reads a file of it waits."""
import os

import reported
import victims
from stage import FAR_ADDRESS, run_quietly

GROUP = "reported"
RESOURCE = "network"
GUILTY = "remote"
FEATURES = set()
CAUSE = "remote"
TOLERABLE = {"no-answer", "packets-lost", "disk-hangs"}
NEEDS = ("sshfs", "/usr/lib/openssh/sftp-server", "iptables")
PORT = 18410
# both wait in a call of the file system; in poll() waits sshfs itself
LISTS = """import os, sys, timed
def look():
    for name in os.listdir(sys.argv[3]):
        with open(os.path.join(sys.argv[3], name), "rb") as file:
            file.read()
timed.repeat(look, 0.2)
"""
SERVER = """import socket, subprocess, sys
door = socket.create_server((sys.argv[1], int(sys.argv[2])))
while True:
    client, _ = door.accept()
    subprocess.Popen(["/usr/lib/openssh/sftp-server"], stdin=client, stdout=client)
    client.close()
"""


def place_of(stage):
    return stage.work / "mounted"


def prepare(stage, chance):
    shared, place = stage.work / "shared-files", place_of(stage)
    for folder in (shared, place):
        folder.mkdir(exist_ok=True)
    for i in range(3):
        (shared / f"letter{i}").write_bytes(os.urandom(20000))
    stage.start("python3", stage.script("files.py", SERVER), FAR_ADDRESS, PORT, name="file-server", before=stage.in_far)
    stage.watch(1)  # until it listens
    stage.start("sshfs", "-f", "-o", f"directport={PORT},direct_io,dir_cache=no,attr_timeout=0,entry_timeout=0", f"{FAR_ADDRESS}:{shared}", place, name="mount")
    stage.watch(2)
    victims.start(stage, "letters", LISTS, place)
    stage.watch(1)


def inject(stage, chance):
    reported.lose_in_far(stage, "-p", "tcp", "--dport", str(PORT))
    return []


def restore(stage):
    reported.lose_nothing_in_far(stage)
    run_quietly("umount", "--lazy", place_of(stage))
