"""Three sessions of the database are open and ask nothing; one listens for notifications."""
import reported

GROUP = "harmless"
RESOURCE = "other"
GUILTY = "nobody"
FEATURES = set()
CAUSE = "nothing"
TOLERABLE = {"cpu-shared", "disk-shared"}
NEEDS = ("postgres", "psql")


def inject(stage, chance):
    return reported.ordinary(stage, "idle-sessions", f"(echo LISTEN news\\;; sleep 300) | psql -q -h {stage.work}/postgres -U postgres bench & for i in 1 2; do (echo SELECT 1\\;; sleep 300) | psql -q -h {stage.work}/postgres -U postgres bench & done; wait")
