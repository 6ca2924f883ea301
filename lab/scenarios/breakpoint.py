"""A debugger has stopped a program at a breakpoint; no program waits for it but the debugger, and that for its user."""
from harmless import CAUSE, FEATURES, GROUP, GUILTY, RESOURCE, TOLERABLE
import reported

NEEDS = ("gdb",)


def inject(stage, chance):
    return reported.ordinary(stage, "breakpoint", "sleep 300 & sleep 0.3; gdb -q -nx -p $! -ex 'python import time; time.sleep(300)' >/dev/null 2>&1")
