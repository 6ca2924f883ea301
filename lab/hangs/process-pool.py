"""A pool of processes: a task sleeps in each of them, and the program that gave them waits for the next one."""
VICTIM = "renders-pages"
WAITS = {"peer", "lock"}
CLIENT = """import os, sys, time
from concurrent.futures import ProcessPoolExecutor
def work():
    while os.path.exists(sys.argv[1]):
        time.sleep(1000)
    return os.getpid()
if __name__ == "__main__":
    import timed
    pool = ProcessPoolExecutor(2)
    def ask():
        pool.submit(work).result()
    timed.repeat(ask)
"""


class Workers:
    def __init__(self, actor):
        self.actor = actor

    def pids(self):
        return [pid for pid in self.actor.pids() if pid != self.actor.process.pid]


def prepare(stage):
    stage.start("renders-pages", CLIENT, stage.folder / "pages-are-late")


def inject(stage):
    (stage.folder / "pages-are-late").touch()
    return [Workers(stage.actor("renders-pages"))]
