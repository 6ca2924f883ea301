"""A program sets thousands of timers a second: much of what it costs is done in interrupts."""
from resources import CPU, SWITCHING

GROUP = "cpu"
RESOURCE = "cpu"
FEATURES = CPU | SWITCHING
CAUSE = "kernel-work"
TOLERABLE = {"cpu", "cpu-group", "interrupts"}


def inject(stage, chance):
    return [stage.start("stress-ng", chance.choice(("--hrtimers", "--timer", "--timerfd")), chance.choice((1, 2)), "--timer-freq", 200000,
                        "--timerfd-freq", 200000, "--quiet", name="ticker")]
