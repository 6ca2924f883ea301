"""A program holds other programs back as cpulimit does: it stops and continues them by signals, again and again."""
import signal

from resources import CPU, LOCKS, SWITCHING

GROUP = "other"
RESOURCE = "delay"
FEATURES = CPU | LOCKS | SWITCHING
CAUSE = "stopped"
TOLERABLE = {"lock", "lock-holder"}
NEEDS = ("python3",)
HELD = ("editor", "office")
PROGRAM = """import os, signal, sys, time
stopped, held = float(sys.argv[1]), [int(pid) for pid in sys.argv[2:]]
while True:
    for number, seconds in ((signal.SIGSTOP, stopped), (signal.SIGCONT, 0.05)):
        for pid in held:
            os.kill(pid, number)
        time.sleep(seconds)
"""


def inject(stage, chance):
    pids = [stage.actor(name).process.pid for name in HELD]
    return [stage.start("python3", "-c", PROGRAM, chance.choice((0.1, 0.25)), *pids, name="limiter")]


def restore(stage):
    for name in HELD:
        stage.actor(name).process.send_signal(signal.SIGCONT)
