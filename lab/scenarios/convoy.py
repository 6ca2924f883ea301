"""A program holds a lock most of the time that others need as well; it uses next to no CPU."""
from resources import LOCKS, SWITCHING

GROUP = "cpu"
RESOURCE = "delay"
FEATURES = LOCKS | SWITCHING | {"threads.count"}
CAUSE = "lock-held"
TOLERABLE = {"lock-holder"}


def inject(stage, chance):
    return [stage.start("ledger", stage.work / "book", chance.choice((1, 3, 6)), chance.choice((60000, 120000)), 500, "sleep",
                        name="auditor")]
