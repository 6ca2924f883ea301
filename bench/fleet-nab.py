"""The score of NAB (numenta/NAB, profile standard) of what `whyslow fleet history` lists.

    fleet-nab.py WHYSLOW DATA [A_WEEK ...]

A detection is the beginning of what is listed; the first 15 % of a file, at most 750 rows, do not count. The first detection in a labelled window counts up to 1, the
earlier the more, one outside costs up to .11, the more the farther from the window before it, and a window without one costs 1; 0 is the score of silence, 100 that of
a perfect detector. A_WEEK: with --per-week of history; "all" is without. Prints "RESULT NAME VALUE" for bench/eval-fleet.
"""
import bisect
import csv
import glob
import json
import math
import os
import subprocess
import sys
from datetime import datetime, timezone

whyslow, data = sys.argv[1], sys.argv[2] + "/fleet3/nab"
FALSE = 0.11


def seconds(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00").split(".")[0].split("+")[0]).replace(tzinfo=timezone.utc).timestamp()


def sigmoid(y):
    return 2 / (1 + math.exp(5 * y)) - 1 if y <= 3 else -1.0


PERFECT = sigmoid(-1)


def score_file(times, windows, found):
    """The raw score, the windows, and how many detections count."""
    probation = min(int(0.15 * len(times)), 750)
    row = [bisect.bisect_left(times, x) for x in found]
    spans = [(bisect.bisect_left(times, a), bisect.bisect_right(times, b) - 1) for a, b in windows]
    score, hit = 0.0, set()
    for r in sorted(x for x in row if probation <= x < len(times)):
        inside = [k for k, (a, b) in enumerate(spans) if a <= r <= b]
        if inside:
            if inside[0] not in hit:
                a, b = spans[inside[0]]
                hit.add(inside[0])
                score += sigmoid(-(b - r + 1) / (b - a + 1)) / PERFECT
            continue
        before = [(a, b) for a, b in spans if b < r]
        a, b = before[-1] if before else (0, 0)
        score += FALSE * (sigmoid((r - b) / (b - a)) if b > a else -1)
    return score - (len(spans) - len(hit)), len(spans), len([r for r in row if probation <= r])


def main():
    with open(data + "/windows.json") as file:
        labels = json.load(file)
    for rate in sys.argv[3:] or ["all"]:
        raw = windows_all = listed = days = 0
        for path in sorted(glob.glob(data + "/data/*/*.csv")):
            name = "/".join(path.split("/")[-2:])
            with open(path) as file:
                times = [seconds(x["timestamp"]) for x in csv.DictReader(file)]
            options = ["--per-week", rate] if rate != "all" else []
            done = subprocess.run([whyslow, "fleet", "history", path, "--json", "--top", "0", *options], capture_output=True, text=True)
            found = [seconds(x["from"]) for x in json.loads(done.stdout)["episodes"]] if done.returncode in (0, 1) else []
            score, n, count = score_file(times, [[seconds(a), seconds(b)] for a, b in labels[name]], found)
            raw, windows_all, listed, days = raw + score, windows_all + n, listed + count, days + (times[-1] - times[0]) / 86400
            if os.environ.get("EACH"):
                print(f"{name} {score:.2f} of {n}, {count} listed")
        value = 100 * (raw + windows_all) / (2 * windows_all)
        print(f"{rate} a week: {listed} listed in {days:.0f} days")
        print(f"RESULT fleet.nab.standard_{rate} {value:.1f}", flush=True)


if os.path.isdir(data):
    main()
