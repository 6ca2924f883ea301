"""A script does a little each second and sleeps, as monitoring does."""
from harmless import CAUSE, FEATURES, GROUP, GUILTY, RESOURCE, TOLERABLE
import reported


def inject(stage, chance):
    return reported.ordinary(stage, "timer-script", "while :; do cat /proc/loadavg /proc/meminfo | tail -n 1; sleep 1; done")
