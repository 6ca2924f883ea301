"""A script does a little each second and sleeps, as monitoring does."""
import reported

GROUP = "harmless"
RESOURCE = "other"
GUILTY = "nobody"
FEATURES = set()
CAUSE = "nothing"
TOLERABLE = {"cpu-shared", "disk-shared"}


def inject(stage, chance):
    return reported.ordinary(stage, "timer-script", "while :; do cat /proc/loadavg /proc/meminfo | tail -n 1; sleep 1; done")
