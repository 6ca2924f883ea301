"""A program tells what it does through a pipe, and who reads that becomes slow: the pipe is full, and the program waits."""
import os
import signal

from resources import LOCKS, SWITCHING

GROUP = "other"
RESOURCE = "delay"
FEATURES = LOCKS | SWITCHING | {"wait.peer", "io.read_calls", "io.read_chars"}
CAUSE = "slow-reader"
TOLERABLE = set()
NEEDS = ("perl", "python3")
TELLER = """use Time::HiRes "sleep"; open my $log, ">", $ARGV[0]; $| = 1;
while (1) { syswrite $log, "a line of a log\\n" x 256; sleep 0.02; }"""
SHIPPER = """import signal, sys, time
pause = 0
def slow_down(*_):
    global pause
    pause = float(sys.argv[2])
signal.signal(signal.SIGUSR1, slow_down)
with open(sys.argv[1], "rb", buffering=0) as log:
    while log.read(4096):
        time.sleep(pause)
"""


def prepare(stage, chance):
    pipe = stage.work / "log-pipe"
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    stage.start("python3", "-c", SHIPPER, pipe, chance.choice((0.1, 0.4)), name="shipper")
    stage.start("perl", "-e", TELLER, pipe, name="order-server")


def inject(stage, chance):
    shipper = stage.actor("shipper")
    shipper.process.send_signal(signal.SIGUSR1)
    return [shipper]
