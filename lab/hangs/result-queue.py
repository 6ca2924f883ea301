"""Python's multiprocessing: requests and results go through queues between processes, and the one that works sleeps."""
VICTIM = "price-list-maker"
WAITS = {"peer", "lock"}
MAKER = """import multiprocessing, os, sys, time, timed
def work(jobs, results):
    while True:
        job = jobs.get()
        if os.path.exists(sys.argv[1]):
            time.sleep(1000)
        results.put(job)
jobs, results = multiprocessing.Queue(), multiprocessing.Queue()
multiprocessing.Process(target=work, args=(jobs, results), daemon=True).start()
def ask():
    jobs.put("prices")
    results.get()
timed.repeat(ask)
"""


class Worker:
    """The child of the one that waits, which is no culprit itself."""

    def __init__(self, actor):
        self.actor = actor

    def pids(self):
        return [pid for pid in self.actor.pids() if pid != self.actor.process.pid]


def prepare(stage):
    stage.start("price-list-maker", MAKER, stage.folder / "worker-sleeps")


def inject(stage):
    (stage.folder / "worker-sleeps").touch()
    return [Worker(stage.actor("price-list-maker"))]
