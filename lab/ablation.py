"""What the victims wait for, measured without whyslow, and by how much that falls when the culprit is ended.

The same innocents are watched in three phases of a case: calm, slow, and after the culprit was ended while all else went on.
What their waiting falls by is the truth for "how much of it is the culprit's".
"""
import pathlib
import time

from tops import TICK

SETTLES = 2  # seconds after the end: queues empty, freed memory is taken
MOST = 1.5  # seconds a second of one thread: more is no wait (the kernel counts from the boot where accounting began meanwhile)
LASTS = 5  # seconds of each phase, at least as long as `top` is watched
RESOURCES = ("cpu", "io", "memory")
BLOCKED = 39  # of /proc/PID/stat after the name: delayacct_blkio_ticks (proc(5), field 42)


def waited(pids):
    """{thread: seconds so far in which it waited for (a CPU, the disk)}; needs kernel.task_delayacct, which the stage sets."""
    threads = {}
    for path in (path for pid in pids for path in pathlib.Path(f"/proc/{pid}/task").glob("*")):
        try:
            queued = int((path / "schedstat").read_text().split()[1]) / 1e9
            blocked = int((path / "stat").read_text().rpartition(")")[2].split()[BLOCKED]) / TICK
        except (OSError, IndexError):
            continue
        threads[path.name] = queued, blocked
    return threads


def pressures():
    """Seconds so far in which some task waited for each resource; {} where the kernel does not count them."""
    try:
        return {name: int(pathlib.Path(f"/proc/pressure/{name}").read_text().split("total=")[1].split()[0]) / 1e6 for name in RESOURCES}
    except OSError:
        return {}


def possible(grown, lasted):
    return grown if grown <= MOST * lasted else 0


class Phase:
    """From its making to its end()."""

    def __init__(self, actors):
        self.actors = list(actors)
        self.begin, self.waited, self.pressures = time.monotonic(), waited(self.pids()), pressures()

    def pids(self):
        return frozenset().union(*(actor.descendants for actor in self.actors))

    def end(self):
        """What was waited in it, in seconds a second: all threads of the actors added up, and the machine's pressure."""
        lasted, now = time.monotonic() - self.begin, pressures()
        grown = [[possible(end - begin, lasted) for begin, end in zip(self.waited.get(thread, (0, 0)), ends)]
                 for thread, ends in waited(self.pids()).items()]
        return {"cpu": round(sum(cpu for cpu, _ in grown) / lasted, 4), "io": round(sum(io for _, io in grown) / lasted, 4),
                "pressure": {name: round((now[name] - before) / lasted, 4) for name, before in self.pressures.items()}}


def end_culprits(stage, scenario, culprits, before):
    """Ends those that the scenario started, and undoes what it did to the background if that is to blame. False where nothing can
    be taken away: all culprits have ended already, or one of the background is guilty for good."""
    started = [actor for actor in culprits if actor not in before and actor.process.poll() is None]
    undo = hasattr(scenario, "restore") and all(actor in before for actor in culprits[:1])
    for actor in started:
        stage.stop(actor)
    if undo:
        scenario.restore(stage)
        stage.restored = True
    return bool(started or undo)


def play(stage, scenario, culprits, before):
    """The last phase, or None where nothing can be taken away."""
    if not end_culprits(stage, scenario, culprits, before):
        return None
    stage.watch(SETTLES)
    phase = Phase(actor for actor in before if actor in stage.actors and actor not in culprits)
    stage.watch(LASTS)
    return phase.end()


def share(ablation, of=("cpu", "io")):
    """Of what the victims waited more than in the calm, the share that went away with the culprit, 0 to 1; None if they did not
    wait noticeably more (a tenth of a second a second) or nothing was taken away."""
    if not ablation or not ablation.get("ended"):
        return None
    calm, slow, ended = (sum(ablation[phase][name] for name in of) for phase in ("calm", "slow", "ended"))
    return min(1.0, max(0.0, (slow - ended) / (slow - calm))) if slow - calm > 0.1 else None


def short_of(ablation):
    """The resource whose pressure fell most when the culprit was ended; None if none fell noticeably (by 3 % of the time)."""
    if not ablation or not ablation.get("ended"):
        return None
    fell = {name: slow - ablation["ended"]["pressure"].get(name, 0) for name, slow in ablation["slow"]["pressure"].items()}
    most = max(fell, key=fell.get, default=None)
    return most if most and fell[most] >= 0.03 else None
