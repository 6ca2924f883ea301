"""A program keeps the record lock (fcntl) that all bookings take for a moment, and sleeps."""
VICTIM = "booking"
WAITS = {"lock"}
BOOKING = """import fcntl, sys, timed
with open(sys.argv[1], "a") as book:
    def book_one():
        fcntl.lockf(book, fcntl.LOCK_EX)
        fcntl.lockf(book, fcntl.LOCK_UN)
    timed.repeat(book_one)
"""
CLOSING = """import fcntl, sys, time
with open(sys.argv[1], "a") as book:
    fcntl.lockf(book, fcntl.LOCK_EX)
    time.sleep(1000)
"""


def prepare(stage):
    stage.start("booking", BOOKING, stage.folder / "bookings")


def inject(stage):
    return [stage.start("closing", CLOSING, stage.folder / "bookings")]
