"""The workers of a pool of processes wait for work, and their parent for a request that does not come."""
from harmless import CAUSE, FEATURES, GROUP, GUILTY, RESOURCE, TOLERABLE
import reported


def inject(stage, chance):
    return reported.ordinary(stage, "idle-pool", "exec python3 -c 'import multiprocessing, time; pool = multiprocessing.Pool(6); pool.map(abs, range(100)); time.sleep(300)'")
