"""A program keeps a semaphore in shared memory that others take for a moment, and sleeps."""
VICTIM = "printer"
WAITS = {"lock", "peer"}
OPEN = """import ctypes, os, sys, time
libc = ctypes.CDLL(None)
libc.sem_open.restype = ctypes.c_void_p
semaphore = ctypes.c_void_p(libc.sem_open(os.fsencode(sys.argv[1]), os.O_CREAT, 0o600, 1))
"""
PRINTER = OPEN + """import timed
def use():
    libc.sem_wait(semaphore)
    libc.sem_post(semaphore)
timed.repeat(use)
"""
KEEPER = OPEN + """libc.sem_wait(semaphore)
time.sleep(1000)
"""
NAME = "/whyslow-lab-hang"


def prepare(stage):
    stage.start("printer", PRINTER, NAME)


def inject(stage):
    return [stage.start("paper-tray", KEEPER, NAME)]


def release(stage):
    stage.forget_semaphore(NAME)
