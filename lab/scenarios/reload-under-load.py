"""A web server reads its configuration again (nginx -s reload) every second while visitors ask it: old workers end when their requests are done."""
from harmless import CAUSE, FEATURES, GROUP, GUILTY, RESOURCE, TOLERABLE
import life
import reported

NEEDS = ("nginx", "curl")


def inject(stage, chance):
    return reported.ordinary(stage, "reload-under-load", f"for i in $(seq 40); do nginx -p {stage.work}/web -c nginx.conf -s reload; for j in 1 2 3 4 5; do curl -s -o /dev/null http://127.0.0.1:{life.PORT}/small; sleep 0.2; done; done")
