"""A program asks the web server without a pause: the client is the culprit, the server only does what it is asked."""
import life
from resources import CPU, NETWORK, SWITCHING

GROUP = "cpu"
RESOURCE = "cpu"
FEATURES = CPU | NETWORK | SWITCHING | {"io.read_calls", "io.write_calls", "io.read_chars", "io.write_chars", "handles.sockets"}
CAUSE = "cpu"
TOLERABLE = {"kernel-work", "network-busy", "packet-flood"}
NEEDS = ("nginx", "wrk")


def inject(stage, chance):
    return [stage.start("wrk", "-t", 2, "-c", chance.choice((16, 64)), "-d", 300, f"http://127.0.0.1:{life.PORT}/fast/small", name="crawler")]
