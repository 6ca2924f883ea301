"""Three sessions of the database are open and ask nothing; one listens for notifications."""
from harmless import CAUSE, FEATURES, GROUP, GUILTY, RESOURCE, TOLERABLE
import reported

NEEDS = ("postgres", "psql")


def inject(stage, chance):
    return reported.ordinary(stage, "idle-sessions", f"(echo LISTEN news\\;; sleep 300) | psql -q -h {stage.work}/postgres -U postgres bench & for i in 1 2; do (echo SELECT 1\\;; sleep 300) | psql -q -h {stage.work}/postgres -U postgres bench & done; wait")
