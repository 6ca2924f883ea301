"""A virtual machine is paused (its process is stopped), with a terminal that shows it: no program asks it anything."""
from harmless import CAUSE, FEATURES, GROUP, GUILTY, RESOURCE, TOLERABLE
import reported


def inject(stage, chance):
    return reported.ordinary(stage, "paused-machine", "python3 -c 'import time; memory = bytearray(200 << 20); time.sleep(1000)' & sleep 0.5; kill -STOP $!; wait")
