"""What the bystanders wait for, and by how much that falls when the culprit is ended.

They are watched in three phases of a case: calm, slow, and after the culprit was ended while all else went on. What their waiting falls
by is the truth for "how much of it is the culprit's". What they wait changes from second to second, so a share has a standard error, and
where that is large nothing is known.
"""
import collections
import dataclasses
import math
import pathlib
import statistics
import time

import score
from tops import TICK

SETTLES = 2  # seconds after the end: queues empty, freed memory is taken
ENDED = 8  # seconds from the button to the last phase, of cases that do not say it
MOST = 1.5  # seconds a second of one thread: more is a mistake (the kernel counts from the boot where accounting begins during a wait)
LASTS = 8  # seconds of the last phase
BEGINS = 2  # seconds from the injection on which are not slow yet
CATCHES_UP = 3  # seconds after a recorder's start, which are not calm
ALIKE = 0.4  # correlation of what is waited in two seconds, one after the other
FELT = 0.3  # seconds a second: a smaller difference is chance
NOTICEABLE = 0.1  # seconds a second of added waiting: of less there is no share
KNOWN = 0.25  # a larger standard error, and the share is not known
UNEVEN = 0.4  # CPUs' worth of work by which strangers may do more in one phase than in another
WAITS = ("cpu.run_delay", "delay.block", "delay.reclaim", "delay.swapin", "delay.thrashing")
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
        self.since, self.begin, self.waited, self.pressures = time.time(), time.monotonic(), waited(self.pids()), pressures()

    def pids(self):
        return frozenset().union(*(actor.descendants for actor in self.actors))

    def end(self):
        """What was waited in it, in seconds a second: all threads of the actors added up, and the machine's pressure."""
        lasted, now = time.monotonic() - self.begin, pressures()
        grown = [[possible(end - begin, lasted) for begin, end in zip(self.waited.get(thread, (0, 0)), ends)]
                 for thread, ends in waited(self.pids()).items()]
        return {"since": round(self.since, 3), "cpu": round(sum(cpu for cpu, _ in grown) / lasted, 4), "io": round(sum(io for _, io in grown) / lasted, 4),
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


@dataclasses.dataclass(frozen=True)
class Gone:
    """Of what the bystanders wait more than in the calm, what goes away with the culprit: 0 to 1, but for its error."""

    measured: float
    error: float  # standard error

    @property
    def share(self):
        return min(1.0, max(0.0, self.measured))

    def known(self):
        return self.error <= KNOWN


def waits_by_second(truth, rows):
    """What bystanders wait, and the CPU time of strangers, in seconds a second: {second: ...}, {second: ...}."""
    waits, strange, threads = collections.Counter(), collections.Counter(), {}
    for at, row in rows:
        values, second = {name: value or 0 for name, value in row["values"].items()}, round(at)
        if row["kind"] == "system":
            waits[second] += 0
        elif row["kind"] in ("process", "short-lived"):
            threads[row["pid"]] = values.get("threads.count", threads.get(row["pid"], 1))
            if score.STAGE in (row.get("unit") or ""):
                if not truth.did_it(row):
                    waits[second] += sum(possible(values.get(name, 0) / 1e9, threads[row["pid"]]) for name in WAITS)
            elif row.get("exe") != truth.recorder:
                strange[second] += values.get("cpu.time", 0) / 1e9
    return waits, strange


def mean(values):
    """With its standard error, as what is waited in one second is like that in the second before it."""
    return statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values)) * math.sqrt((1 + ALIKE) / (1 - ALIKE))


def gone(case, truth, rows):
    """By what the kernel counted in each recorded second. None where nothing was taken away, hardly anything was waited for,
    or strangers worked more in one phase than in another."""
    if not (case["ablation"] or {}).get("ended"):
        return None
    waits, strange = waits_by_second(truth, rows)
    ended = case["ablation"]["ended"].get("since", case["pressed"] + ENDED)
    spans = ((case["calm_from"] + CATCHES_UP, case["injected"] - 1), (case["injected"] + BEGINS, ended - SETTLES - 1), (ended, ended + LASTS))
    seconds = [[second for second in waits if begin <= second <= end] for begin, end in spans]
    if any(len(some) < 3 for some in seconds):
        return None
    (calm, of_calm), (slow, of_slow), (after, of_after) = (mean([waits[second] for second in some]) for some in seconds)
    others = [statistics.fmean(strange[second] for second in some) for some in seconds]
    if slow - calm < NOTICEABLE or max(others) - min(others) > UNEVEN:
        return None
    share = (slow - after) / (slow - calm)
    return Gone(share, math.hypot(of_after, (1 - share) * of_slow, share * of_calm) / (slow - calm))


def felt(ablation, declared):
    """The resources, CPU and disk, for which the bystanders waited more when the culprit began, and less when it had been ended; with what the
    scenario declares, unless neither says so: they differ by chance. `declared` where nothing is known."""
    if not ablation or not all(ablation.get(phase) for phase in ("calm", "slow", "ended")):
        return declared
    more = {what: [ablation["slow"][what] - ablation[phase][what] >= FELT for phase in ("calm", "ended")] for what in ("cpu", "io")}
    return [what for what, both in more.items() if all(both) or (what in declared and any(both))] or declared


def short_of(ablation):
    """The resource whose pressure fell most when the culprit was ended; None if none fell noticeably (by 3 % of the time)."""
    if not ablation or not ablation.get("ended"):
        return None
    fell = {name: slow - ablation["ended"]["pressure"].get(name, 0) for name, slow in ablation["slow"]["pressure"].items()}
    most = max(fell, key=fell.get, default=None)
    return most if most and fell[most] >= 0.03 else None
