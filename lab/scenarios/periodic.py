"""The nightly job runs, big but as always; beside it a small program computes that is not usual."""
import time

import life
from resources import CPU

GROUP = "other"
RESOURCE = "cpu"
FEATURES = CPU
CAUSE = "cpu"
TOLERABLE = set()
PRESS = (6, 8)


def calm(until_press):
    """So that the button is pressed in the middle of the nightly job."""
    return (-time.time() - until_press + 3.5) % life.NIGHTLY_EVERY


def inject(stage, chance):
    return [stage.start(*chance.choice((("openssl", "speed", "-seconds", 60, "sha256"), ("burn", 1, 80))))]
