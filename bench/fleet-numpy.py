"""The same as bench/fleet-scale analyse, by vectorised float32 numpy and by pandas, on a part of the servers; prints
seconds for all of them (each of the three is linear in servers)."""
import sys
import time

import numpy as np
import pandas as pd

servers, part = int(sys.argv[1]), int(sys.argv[2])
COUNTERS, ROWS = 200, 1440
cycle = np.sin(np.arange(ROWS, dtype=np.float32) * np.float32(6.2832 / ROWS))
rng = np.random.default_rng(1)
data = rng.random((COUNTERS, part, ROWS), dtype=np.float32) * 5 + 100 + 10 * cycle


def timed(name, work):
    begin = time.perf_counter()
    work()
    print(f"{name} {(time.perf_counter() - begin) * servers / part:.3f}", flush=True)


def equation_1():
    for c in range(COUNTERS):
        x = data[c]
        np.abs(np.median(x) - np.median(x, axis=1)) / x.std()


def equation_2():
    for c in range(COUNTERS):
        x = data[c]
        abs(np.median(x) - np.median(x)) / x.std()


def correlation():
    s = data[0, 0] - data[0, 0].mean()
    norm = np.sqrt((s * s).sum())
    for c in range(COUNTERS):
        y = data[c] - data[c].mean(axis=1, keepdims=True)
        (y @ s) / (norm * np.sqrt((y * y).sum(axis=1)))


timed("numpy_equation_1", equation_1)
timed("numpy_equation_2", equation_2)
timed("numpy_correlation", correlation)

few = 10  # counters: pandas would take minutes for all; linear in counters too
frame = pd.DataFrame({"server": np.repeat(np.arange(part), ROWS), **{f"c{c}": data[c].ravel() for c in range(few)}})
names = [f"c{c}" for c in range(few)]


def timed_few(name, work):
    begin = time.perf_counter()
    work()
    print(f"{name} {(time.perf_counter() - begin) * servers / part * COUNTERS / few:.3f}", flush=True)


timed_few("pandas_equation_1", lambda: (frame.groupby("server")[names].median() - frame[names].median()).abs() / frame[names].std(ddof=0))
timed_few("pandas_equation_2", lambda: (frame[names].median() - frame[names].median()).abs() / frame[names].std(ddof=0))
wide = pd.DataFrame({f"{c}.{s}": data[c, s] for c in range(few) for s in range(part)})
symptom = wide["0.0"]
timed_few("pandas_correlation", lambda: wide.corrwith(symptom))
