"""A program that was left alone for long, and swapped out, is used again: it reads its memory back, and others must make room."""
import signal

import life
from resources import CPU, MEMORY
from stage import SHORT

GROUP = "memory"
RESOURCE = "memory"
FEATURES = CPU | MEMORY
CAUSE = "group-memory-limit"
TOLERABLE = {"cache-thrash", "swapping", "memory-growth", "memory-short"}
NEEDS = ("python3",)
SIZE, ROOM = 700, 250  # megabytes: of it, and that the group has for it
FILLS = 6  # seconds
SETTLES = 25  # until the others have theirs back, and it is out
PREPARES = FILLS + SETTLES + 2
PRESS = (3, 6)
PROGRAM = """import mmap, signal, sys, time
size = int(sys.argv[1]) << 20
memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
def visit(pause):
    for part in range(0, size, 1 << 20):
        for at in range(part, part + (1 << 20), 4096):
            memory[at] = (memory[at] + 1) % 256
        time.sleep(pause)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
visit(0)
signal.sigwait([signal.SIGUSR1])
while True:
    visit(0.008)
"""


def prepare(stage, chance):
    life.make_memory_short(stage, chance, ROOM)
    stage.start("python3", "-c", PROGRAM, SIZE, name="notebook", group=SHORT)
    stage.watch(FILLS + SETTLES)


def inject(stage, chance):
    notebook = stage.actor("notebook")
    notebook.process.send_signal(signal.SIGUSR1)
    return [notebook]


def restore(stage):
    life.give_memory_back(stage)
