"""Two servers of redis share a volume of 30 MB/s: one syncs each write, the other one, with 900 MB, begins to save again and again."""
from pathlib import Path

import victims
from resources import CPU, FAULTS, MEMORY, SWITCHING, WRITING

GROUP = "reported"
RESOURCE = "io"
FEATURES = CPU | FAULTS | MEMORY | SWITCHING | WRITING | {"tasks.forks", "children.cpu"}
CAUSE = "disk-write"
TOLERABLE = {"synced-writes", "written-faster-than-disk", "backup", "disk-both"}
NEEDS = ("redis-server", "redis-cli")
OWN, NEIGHBOUR = 18412, 18413
RATE = 30 << 20
KEYS = 900000  # of a kilobyte
PREPARES = 14
WRITES = """import sys, timed
server = timed.connect("127.0.0.1", int(sys.argv[3]))
def write():
    server.sendall(b"SET visitor somebody\\r\\n")
    server.recv(100)
timed.repeat(write)
"""
SAVES = "while :; do redis-cli -p {port} BGSAVE; sleep 3; done"


def prepare(stage, chance):
    stage.mount_image(Path(stage.file("volume", 3 << 30)))
    for name, port, how in (("own-redis", OWN, ("--appendonly", "yes", "--appendfsync", "always")), ("neighbour", NEIGHBOUR, ("--appendonly", "no"))):
        folder = stage.image_folder / name
        folder.mkdir(exist_ok=True)
        stage.start("redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--rdbcompression", "no",
                    "--enable-debug-command", "local", *how, name=name)
    stage.watch(2)
    stage.finish("redis-cli", "-p", NEIGHBOUR, "DEBUG", "POPULATE", KEYS, "key", 1000)
    stage.slow_volume(RATE)
    victims.start(stage, "writer", WRITES, OWN)
    stage.watch(1)


def inject(stage, chance):
    return [stage.actor("neighbour"), stage.start("sh", "-c", SAVES.replace("{port}", str(NEIGHBOUR)), name="saver")]


def restore(stage):
    stage.unmount_image()
