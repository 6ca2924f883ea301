"""A program that was left alone for long, and swapped out, is used again: it reads its memory back, and others must make room."""
import signal

import life
from resources import CPU, MEMORY
from stage import SHORT

GROUP = "memory"
RESOURCE = "memory"
FEATURES = CPU | MEMORY
CAUSES = {"memory-growth", "group-memory-limit", "swapping", "memory-short", "cache-thrash"}
NEEDS = ("python3",)
SIZE, ROOM = 700, 250  # megabytes: of it, and that the group has for it
FILLS = 6  # seconds
PREPARES = FILLS + 2
PROGRAM = """import mmap, signal, sys
memory = mmap.mmap(-1, int(sys.argv[1]) << 20)
def visit():
    for at in range(0, len(memory), 4096):
        memory[at] = (memory[at] + 1) % 256
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
visit()
signal.sigwait([signal.SIGUSR1])
while True:
    visit()
"""


def prepare(stage, chance):
    stage.use_swap(1024 * life.MEBIBYTE, compressed=chance.random() < 0.5)
    stage.groups.set_memory((life.database_size() + ROOM) * life.MEBIBYTE)
    stage.start("python3", "-c", PROGRAM, SIZE, name="notebook", group=SHORT)
    stage.watch(FILLS)


def inject(stage, chance):
    notebook = stage.actor("notebook")
    notebook.process.send_signal(signal.SIGUSR1)
    return [notebook]


def restore(stage):
    stage.groups.set_memory(None)
    stage.drop_swap()
