"""A script polls for a file with sleep, and a shell reads what it prints, for another shell that a tool started."""
from harmless import CAUSE, FEATURES, GROUP, GUILTY, RESOURCE, TOLERABLE
import reported


def inject(stage, chance):
    return reported.ordinary(stage, "script-with-sleep", f"out=$(bash -c 'until [ -e {stage.work}/never ]; do sleep 2; done; echo done'); echo $out")
