"""A file is downloaded at 20 kB/s from a web server here: the server waits for its client, and the client for time."""
from harmless import CAUSE, FEATURES, GROUP, GUILTY, RESOURCE, TOLERABLE
import life
import reported

NEEDS = ("nginx", "curl")


def inject(stage, chance):
    return reported.ordinary(stage, "slow-download", f"while :; do curl -s -o /dev/null --limit-rate 20k http://127.0.0.1:{life.PORT}/fast/page; sleep 1; done")
