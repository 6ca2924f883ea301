"""A script asks a web server whether it is well, without a pause, by a program of its own each time (curl)."""
import life
from resources import CHILDREN, CPU, NETWORK, SWITCHING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | NETWORK | SWITCHING
CAUSE = "many-starts"
TOLERABLE = {"children", "cpu", "cpu-group"}
NEEDS = ("curl", "nginx")


def inject(stage, chance):
    once = f"curl -s -o /dev/null http://127.0.0.1:{life.PORT}/fast/small"
    return [stage.start("sh", "-c", f"for i in $(seq {chance.choice((3, 4))}); do (while :; do {once}; done) & done; wait", name="probe")]
