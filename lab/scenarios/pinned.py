"""A program begins to compute on the one CPU that a user's programs are bound to as well: the machine has another one, and they
must not use it."""
import os

from resources import CPU, SWITCHING

GROUP = "cpu"
RESOURCE = "cpu"
FEATURES = CPU | SWITCHING
CAUSE = "cpu"
TOLERABLE = {"cpu-group"}
BOUND = ("editor", "office")


def prepare(stage, chance):
    for name in BOUND:
        stage.bind(stage.actor(name), {0})


def inject(stage, chance):
    simulation = stage.start("burn", chance.choice((2, 4)), 100, name="simulation")
    stage.bind(simulation, {0})
    return [simulation]


def restore(stage):
    for name in BOUND:
        stage.bind(stage.actor(name), range(os.cpu_count()))
