"""The paper's model as its authors ran it: a sample every 60 s, or every 10 s, of values in the units of performance counters (percent of a CPU, not ns/s).

`whyslow why --model gaussian` learns from every second and in the feature table's units; densities depend on both.
"""
import collections
import functools
import json
import math
import statistics
import subprocess

SAMPLED = {f"the paper's, every {seconds} s": seconds for seconds in (60, 10)}
FEATURES_AT_LEAST = 10
PERCENT = 1e9 / 100  # ns/s


@functools.lru_cache
def features_of(whyslow):
    """{name: (whether it counts, what one unit of the paper's is)} of processes."""
    said = subprocess.run([whyslow, "features", "--json"], capture_output=True, text=True, check=True).stdout
    return {f["name"]: (f["type"] == "counter", PERCENT if (f["unit"], f["type"]) == ("ns", "counter") else 1)
            for f in json.loads(said)["features"] if f["kind"] == "process"}


def unlikely(series):
    """Minus the log-likelihood of the last value by the Gaussian of all of them; None: constant, which the paper leaves out."""
    deviation = statistics.pstdev(series)
    if not deviation:
        return None
    return math.log(deviation * math.sqrt(2 * math.pi)) + ((series[-1] - statistics.fmean(series)) / deviation) ** 2 / 2


def rank(rows, pressed, every, features):
    """Processes as suspects are told, the least likely first; the rows are trivial.rows()'. The last sample ends with the press."""
    sampled, who = collections.defaultdict(lambda: collections.defaultdict(dict)), {}
    for at, kind, pid, exe, name, values in rows:
        if kind != "process" or at > pressed:
            continue
        number, process = math.ceil((at - pressed) / every), (pid, exe or name)
        who[process] = {"pid": pid, "exe": exe, "name": name}
        for feature, value in values.items():
            counts, unit = features[feature]
            before = sampled[process][feature].get(number, 0) if counts else 0
            sampled[process][feature][number] = before + value / unit / (every if counts else 1)
    scores = {}
    for process, by_feature in sampled.items():
        first, last = (pick(pick(samples) for samples in by_feature.values()) for pick in (min, max))
        if last < 0:
            continue  # it did nothing at the press, or had ended
        found = []
        for feature, samples in by_feature.items():
            series, level = [], 0
            for number in range(first, last + 1):
                level = samples.get(number, 0 if features[feature][0] else level)
                series.append(level)
            found.append(unlikely(series))
        found = [value for value in found if value is not None]
        if len(found) > FEATURES_AT_LEAST:
            scores[process] = statistics.fmean(found)
    return [who[process] for process in sorted(scores, key=scores.get, reverse=True)]
