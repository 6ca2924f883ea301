"""The program that is used is caught in a loop: it is slow by itself."""
import signal

import life
from resources import CPU

GROUP = "cpu"
RESOURCE = "cpu"
FEATURES = CPU
CAUSE = "itself"
TOLERABLE = {"cpu"}


def inject(stage, chance):
    office = stage.actor("office")
    office.process.send_signal(signal.SIGUSR1)
    return [office]


def restore(stage):
    stage.stop(stage.actor("office"))
    life.office(stage)
