"""Big files are downloaded from a small web server on the same machine (python3 -m http.server, curl)."""
import life
from resources import CPU, NETWORK, READING, SWITCHING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | NETWORK | READING | SWITCHING
CAUSE = "cpu-group"
TOLERABLE = {"cpu", "kernel-work", "packet-flood", "network-busy"}
NEEDS = ("python3", "curl")


PORT = 18183


def make(stage):
    life.make_backup(stage)


def inject(stage, chance):
    server = stage.start("python3", "-m", "http.server", PORT, "--bind", "127.0.0.1", name="file-server")
    once = f"curl -s -o /dev/null http://127.0.0.1:{PORT}/archive"
    client = stage.start("sh", "-c", f"sleep 1; for i in $(seq {chance.choice((2, 3))}); do (while :; do {once}; done) & done; wait", name="downloads")
    return [server, client]
