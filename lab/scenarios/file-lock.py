"""An export keeps a file locked most of the time that the tills need for a moment: they wait, and nothing computes."""
from resources import LOCKS, SWITCHING

GROUP = "other"
RESOURCE = "delay"
FEATURES = LOCKS | SWITCHING
CAUSE = "lock-held"
TOLERABLE = set()
NEEDS = ("perl", "python3")
TILL = """use Fcntl ":flock"; use Time::HiRes "sleep"; open my $book, ">>", $ARGV[0];
while (1) { flock $book, LOCK_EX; sleep 0.002; flock $book, LOCK_UN; sleep 0.02; }"""
EXPORT = """import fcntl, sys, time
with open(sys.argv[1], "a") as book:
    while True:
        fcntl.flock(book, fcntl.LOCK_EX)
        time.sleep(float(sys.argv[2]))
        fcntl.flock(book, fcntl.LOCK_UN)
        time.sleep(0.01)
"""


def prepare(stage, chance):
    for _ in range(chance.choice((1, 3))):
        stage.start("perl", "-e", TILL, stage.work / "sales", name="till")


def inject(stage, chance):
    return [stage.start("python3", "-c", EXPORT, stage.work / "sales", chance.choice((0.15, 0.6)), name="export")]
