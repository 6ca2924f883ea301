"""A client connects to the web server, asks, hangs up and connects again, from many programs at once."""
import life
from resources import CHILDREN, CPU, NETWORK, SWITCHING

GROUP = "cpu"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | NETWORK | SWITCHING | {"io.read_calls", "io.write_calls", "handles.sockets"}
CAUSE = {"health-check": "cpu", "health-checks": "many-starts"}
TOLERABLE = {"children", "cpu", "cpu-group", "kernel-work", "many-starts", "network-busy", "packet-flood"}
NEEDS = ("nginx", "curl", "wrk")


def inject(stage, chance):
    page = f"http://127.0.0.1:{life.PORT}/fast/small"
    if chance.random() < 0.5:
        return [stage.start("wrk", "-t", 1, "-c", 8, "-d", 300, "-H", "Connection: close", page, name="health-check")]
    return [stage.start("sh", "-c", f"while :; do seq 100 | xargs -P 4 -I% curl -s -o /dev/null {page}; done", name="health-checks")]
