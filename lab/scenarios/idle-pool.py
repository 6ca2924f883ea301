"""The workers of a pool of processes wait for work, and their parent for a request that does not come."""
import reported

GROUP = "harmless"
RESOURCE = "other"
GUILTY = "nobody"
FEATURES = set()
CAUSE = "nothing"
TOLERABLE = {"cpu-shared", "disk-shared"}


def inject(stage, chance):
    return reported.ordinary(stage, "idle-pool", "exec python3 -c 'import multiprocessing, time; pool = multiprocessing.Pool(6); pool.map(abs, range(100)); time.sleep(300)'")
