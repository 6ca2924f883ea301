"""Whom the sentence of `whyslow fleet why` names, and what it says of windows without a fault.

    fleet-culprit.py WHYSLOW DATA [SET ...]

A case is right if the culprit of the sentence is the true one (never: if the true one is in a list), or, where there is none, if the answer
is that nothing is unusual. Sets: incidents, petshop, nezha (public, below DATA), seconds, alone, made, cycle (fleet-why.py), services (that call each other), and five kinds of our own:
plateau, leak, silence, all (a fault of all servers at once) and quiet, each asked about its first, a middle and its last hour, and without
a window. Prints "RESULT NAME VALUE" for bench/eval-fleet, and each wrong case for people.
"""
import csv
import glob
import importlib
import itertools
import json
import math
import os
import random
import sys
import tempfile
from datetime import datetime

asked = importlib.import_module("fleet-why")
BEGIN, data_dir = asked.BEGIN, asked.data_dir
SEEDS = 24  # of each kind
ALL = "all servers"


def named(answer, symptom_given):
    """The culprit of the sentence: a server, ALL, or None."""
    if not answer or answer["nothing_unusual"]:
        return None
    culprit = answer["culprit"]
    if answer.get("all_servers"):
        name = ALL
    elif culprit:
        name = culprit["server"]
    else:
        name = None if symptom_given else answer["server"]
    return name if name and name.lower() in answer["summary"].lower() else None


class Tally:
    def __init__(self, set_name):
        self.set_name, self.right = set_name, {}

    def ask(self, part, words, data, true, options=(), window=None, symptom=None):
        options = list(options)
        if symptom:
            options += ["--symptom", symptom]
        if window:
            options += ["--from", asked.stamp(window[0]), "--to", asked.stamp(window[1])]
        answer = asked.why(data, *options)
        name = named(answer, symptom)
        right = name == true
        self.right.setdefault(part, []).append(right)
        if not right:
            print(f"wrong {self.set_name} {part}: {words}: {name} instead of {true}: {answer['summary'][:260] if answer else 'no answer'}", flush=True)

    def print(self):
        everything = [x for rights in self.right.values() for x in rights]
        for part, rights in self.right.items():
            print(f"{self.set_name:10} {part:14} {sum(rights)} of {len(rights)}")
            asked_result(f"culprit.{self.set_name}.{part}", rights)
        if len(self.right) > 1:
            asked_result(f"culprit.{self.set_name}", everything)


def asked_result(name, rights):
    print(f"RESULT fleet.{name} {sum(rights) / len(rights):.4f}", flush=True)


# --- public sets ---


def calls_of_traces(path, to):
    """CALLER,CALLEE lines of the services of spans and their parents; None without traces."""
    if not os.path.exists(path):
        return None
    with open(path) as file:
        spans = json.load(file)
    spans = spans if isinstance(spans, list) else [x for y in spans.values() if isinstance(y, list) for x in y]
    service = {(x["trace_id"], x["span_id"]): x["service"] for x in spans}
    calls = {(service.get((x["trace_id"], x["parent_id"])), x["service"]) for x in spans}
    calls = sorted((a, b) for a, b in calls if a and a != b)
    with open(to, "w") as file:
        file.writelines(f"{a},{b}\n" for a, b in calls)
    return to if calls else None


def evaluate_incidents(folder, tally):
    """As a pager sends them: without a window, with the alert's time, with its symptom, with the calls of its traces."""
    for path in sorted(glob.glob(f"{data_dir}/fleet3/incidents/*/alert.json")):
        case = os.path.dirname(path)
        name = os.path.basename(case)
        with open(path) as file:
            alert = json.load(file)
        with open(case + "/truth.json") as file:
            true = json.load(file)["first_failing_service"]
        metrics = case + "/metrics.csv"
        fired = datetime.fromisoformat(alert["fired_at"].replace("Z", "+00:00")).timestamp()
        with open(metrics) as file:
            last = max(datetime.fromisoformat(row["timestamp"].replace("Z", "+00:00")).timestamp() for row in csv.DictReader(file))
        symptom = f"{alert['metric']}@{alert['service']}"
        calls = calls_of_traces(case + "/traces.json", f"{folder}/{name}.calls")
        tally.ask("no_window", name, metrics, true)
        tally.ask("window", name, metrics, true, window=(fired, last + 1))
        tally.ask("window", name + " before", metrics, true, window=(fired - 600, fired + 1))
        tally.ask("symptom", name, metrics, true, window=(fired - 600, last + 1), symptom=symptom)
        tally.ask("symptom", name + " no window", metrics, true, symptom=symptom)
        if calls:
            tally.ask("calls", name, metrics, true, ["--calls", calls], (fired - 600, last + 1), symptom)
            tally.ask("calls", name + " no symptom", metrics, true, ["--calls", calls], (fired, last + 1))


def evaluate_deployments(folder, tally):
    """The deployment that is named; "none" where none of them is the cause."""
    for path in sorted(glob.glob(f"{data_dir}/fleet3/incidents/*/alert.json")):
        case = os.path.dirname(path)
        with open(path) as file:
            alert = json.load(file)
        with open(case + "/truth.json") as file:
            true = json.load(file)["root_cause_commit"]
        with open(case + "/metrics.csv") as file:
            last = max(datetime.fromisoformat(row["timestamp"].replace("Z", "+00:00")).timestamp() for row in csv.DictReader(file))
        fired = datetime.fromisoformat(alert["fired_at"].replace("Z", "+00:00")).timestamp()
        symptom = ["--symptom", f"{alert['metric']}@{alert['service']}"]
        window = ["--from", asked.stamp(fired - 600), "--to", asked.stamp(last + 1)]
        for part, options in ("symptom", symptom + window), ("window", window), ("no_window", []):
            answer = asked.why(case + "/metrics.csv", "--deployments", case + "/deploys.json", *options)
            ranked = answer["deployments"] if answer else []
            first = ranked[0]["commit"] if ranked and not ranked[0]["why_not"] else "none"
            tally.right.setdefault(part, []).append(first == true)
            if first != true:
                print(f"wrong {tally.set_name} {part}: {os.path.basename(case)}: {first} instead of {true}", flush=True)


def evaluate_petshop(folder, tally):
    for case in asked.petshop_cases(folder, calls=True):
        words, graph = os.path.basename(case.data), case.options[-2:]
        symptom = case.options[1]
        tally.ask("symptom", words, case.data, case.server, window=case.window, symptom=symptom)
        tally.ask("calls", words, case.data, case.server, graph, case.window, symptom)
        tally.ask("no_window", words, case.data, case.server, symptom=symptom)


def evaluate_nezha(folder, tally):
    for part, day in ("boutique", "2022-08-22"), ("ticket", "2023-01-29"):
        faults = []
        for case in asked.nezha_cases(day, folder):
            faults.append(case.window)
            tally.ask(part, f"{case.kind} {asked.stamp(case.window[0])}", case.data, case.server, window=case.window)
        quiet = [b[0] - 300 for a, b in zip(sorted(faults), sorted(faults)[1:]) if b[0] - a[0] > 900]
        for begin in quiet[::2]:
            tally.ask(part + "_quiet", asked.stamp(begin), case.data, None, window=(begin, begin + 240))


def evaluate_small(folder, tally):
    for name, alone in ("alike", False), ("alone", True):
        for case in asked.seconds_cases(folder + "/" + name, alone):
            tally.ask(name, case.data, case.data, case.server, window=case.window)
            tally.ask(name + "_late", case.data, case.data, case.server, window=(case.window[0] + 60, case.window[1]))
            tally.ask(name + "_no_window", case.data, case.data, case.server)
    for seed in range(20):
        case, _, _ = asked.made_fleet(folder, seed)
        tally.ask("made", f"made {seed}", case.data, "db-1", case.options, case.window)
        case = asked.cycle_fleet(folder, seed, True)
        tally.ask("cycle", f"cycle {seed}", case.data, case.server)
        case = asked.cycle_fleet(folder, seed, False)
        tally.ask("cycle_quiet", f"cycle {seed}", case.data, None)


# --- kinds of our own ---


class Fleet:
    """Servers of one role or each of its own, of unlike levels, that share a daily cycle, with noise that has a memory; half of the fleets have a spike of
    one row a night on each server, a quarter a first row of a start."""

    COUNTERS = "requests_per_second", "cpu_percent", "memory_mb", "latency_ms", "connections"
    UNLIKE = "gateway orders ledger stock mail search".split()

    def __init__(self, seed):
        rng = self.rng = random.Random(seed)
        alike = seed % 4 != 3
        n = rng.randrange(5, 11) if alike else 6
        self.names = [f"web-{i + 1}" for i in range(n)] if alike else self.UNLIKE
        self.step = rng.choice((30, 60))
        self.rows = rng.choice((1, 2)) * 86400 // self.step
        cycle = rng.choice((0, 0.1, 0.25))
        spikes, start = seed % 2 == 1, seed % 4 == 2
        self.values = {}
        for c in self.COUNTERS:
            level = {"cpu_percent": 22, "memory_mb": 3000}.get(c) or 10 ** rng.uniform(1, 4)
            noise, memory = rng.uniform(0.02, 0.1) if c != "memory_mb" else 0.01, rng.uniform(0, 0.8)
            share = {"memory_mb": 0.1}.get(c, 1)
            for name in self.names:
                own, state, column = level * rng.uniform(0.8, 1.3), 0.0, []
                for t in range(self.rows):
                    state = memory * state + math.sqrt(1 - memory * memory) * rng.gauss(0, noise)
                    column.append(own * (1 + cycle * share * math.sin(2 * math.pi * t * self.step / 86400)) * math.exp(state))
                if spikes and c != "memory_mb":
                    for night in range(self.rows * self.step // 86400):
                        column[(night * 86400 + 10800) // self.step + rng.randrange(3)] *= 4
                if start:
                    column[0] *= 0.1
                self.values[name, c] = column
        self.hour = 3600 // self.step

    def incident(self, hours):
        """Its first row and the one after its last; it may last to the end of the data."""
        length = int(self.rng.uniform(*hours) * self.hour)
        latest = self.rows - length
        begin = latest if self.rng.random() < 0.3 else self.rng.randrange(self.rows // 4, max(latest, self.rows // 4 + 1))
        return begin, min(begin + length, self.rows)

    def write(self, folder):
        os.makedirs(folder)
        for name in self.names:
            with open(f"{folder}/{name}.csv", "w") as file:
                file.write("time," + ",".join(self.COUNTERS) + "\n")
                for t in range(self.rows):
                    row = [self.values[name, c][t] for c in self.COUNTERS]
                    if any(x is not None for x in row):
                        file.write(f"{BEGIN + t * self.step}," + ",".join("" if x is None else f"{x:.6g}" for x in row) + "\n")
        return folder

    def hours(self, begin, end):
        """The windows of a first, a middle and a last hour in seconds, and none."""
        middle = (begin + end - self.hour) // 2
        for words, row in ("first", begin), ("middle", middle), ("last", end - self.hour):
            yield words, (BEGIN + row * self.step, BEGIN + (row + self.hour) * self.step)
        yield "no_window", None

    def scale(self, names, counters, begin, end, factor):
        for name in names:
            for c in counters:
                column = self.values[name, c]
                for t in range(begin, end):
                    column[t] *= factor((t - begin) / (end - begin))


def plateau(f):
    begin, end = f.incident((4, 10))
    ill, rise = f.rng.choice(f.names), f.rng.uniform(1.5, 3.5)
    f.scale([ill], f.rng.sample([c for c in f.COUNTERS if c != "memory_mb"], f.rng.randrange(1, 4)), begin, end, lambda _: rise)
    return ill, begin, end


def leak(f):
    begin, end = f.incident((8, 12))
    ill, rise = f.rng.choice(f.names), f.rng.uniform(0.6, 2)
    f.scale([ill], ["memory_mb"], begin, end, lambda part: 1 + rise * part)
    return ill, begin, end


def silence(f):
    begin, end = f.incident((2, 6))
    ill = f.rng.choice(f.names)
    for c in f.COUNTERS if f.rng.random() < 0.6 else [f.rng.choice(f.COUNTERS)]:
        f.values[ill, c][begin:end] = [None] * (end - begin)
    return ill, begin, end


def all_servers(f):
    begin, end = f.incident((2, 5))
    rise = f.rng.uniform(1.5, 3)
    f.scale(f.names, f.rng.sample([c for c in f.COUNTERS if c != "memory_mb"], f.rng.randrange(1, 4)), begin, end, lambda _: rise)
    return ALL, begin, end


def quiet(f):
    return None, f.hour, f.rows


class Calling:
    """A tree of services, each of which calls some of the next, with latency, failures, CPU and requests a minute; the last may be a database with counters
    of its own. One falls ill, at once or over some minutes, what calls it is late and fails with it, a row later at times, and what it calls may show an echo."""

    def __init__(self, seed):
        rng = self.rng = random.Random(seed)
        self.names = "frontend checkout payment cart orders stock mail search".split()[:rng.randrange(5, 9)]
        n = len(self.names)
        self.parent = {i: rng.randrange(max(0, i - 3), i) for i in range(1, n)}
        self.database = n - 1 if rng.random() < 0.4 else None
        self.rows = rng.randrange(70, 190)
        self.ill, self.begin = rng.randrange(n), self.rows - rng.randrange(10, 26)
        self.latency, self.failures = rng.choice(((rng.uniform(2, 12), 0), (1, rng.uniform(0.03, 0.6)), (rng.uniform(2, 12), rng.uniform(0.03, 0.6))))
        self.ramp, self.echo, self.busy = rng.choice((1, 1, 4, 8)), rng.choice((0, 0, rng.uniform(0.2, 0.7))), rng.random() < 0.5
        self.late = {self.ill: 0}  # rows, of the ill one, its callers, and what it calls
        self.share, self.callers, i = {}, [], self.ill
        while i:
            self.late[self.parent[i]] = self.late[i] + (rng.random() < 0.35)
            i = self.parent[i]
            self.callers.append(i)
            self.share[i] = rng.uniform(0.4, 1)

    def part(self, t):
        return max(0, min(1, (t - self.begin + 1) / self.ramp))

    def write(self, path):
        rng, own = self.rng, [10 ** self.rng.uniform(0.7, 2.2) for _ in self.names]
        noise, cpu, load = [rng.uniform(0.02, 0.1) for _ in own], [rng.uniform(10, 40) for _ in own], rng.uniform(100, 2000)
        with open(path + ".csv", "w") as file:
            file.write("timestamp,service,metric,value\n")
            for t, (i, name) in itertools.product(range(self.rows), enumerate(self.names)):
                part = self.part(t - self.late.get(i, 0)) * (1 if i == self.ill else self.share.get(i, self.echo if self.parent.get(i) == self.ill else 0))
                slower = part if i in self.late else 0  # what is called fails with its caller, and is not slower
                latency = own[i] * rng.lognormvariate(0, noise[i]) + own[self.ill] * (self.latency - 1) * slower * rng.uniform(0.9, 1.1)
                failing = 0.003 * rng.lognormvariate(0, 0.35) + self.failures * part * rng.uniform(0.9, 1.1)
                requests = load / (i + 1) * rng.lognormvariate(0, 0.05)
                busy = min(100, cpu[i] * rng.lognormvariate(0, 0.05) * (1 + self.busy * (i == self.ill) * part))
                values = {"http_server_duration_p99_ms": latency, "error_rate_ratio": min(1, failing), "cpu_percent": busy, "requests_per_sec": requests}
                if i == self.database:
                    values = {"db_query_duration_p99_ms": latency, "db_errors_ratio": min(1, failing), "db_cpu_utilization": busy, "db_queries_per_second": 3 * requests}
                file.writelines(f"{BEGIN + t * 60},{name},{metric},{value:.5g}\n" for metric, value in values.items())
        with open(path + ".calls", "w") as file:
            file.writelines(f"{self.names[caller]},{self.names[callee]}\n" for callee, caller in self.parent.items())


def evaluate_services(folder, tally):
    for seed in range(2 * SEEDS):
        c = Calling(seed)
        c.write(f"{folder}/{seed}")
        data, end = f"{folder}/{seed}.csv", BEGIN + c.rows * 60 + 1
        fired = BEGIN + (c.begin + c.rng.randrange(3, 9)) * 60
        alerts = [i for i in [c.ill, *c.callers] if i != c.database]
        symptom = f"{'error_rate_ratio' if c.failures else 'http_server_duration_p99_ms'}@{c.names[c.rng.choice(alerts or [c.ill])]}"
        for part, window, given in ("symptom", (fired - 600, end), symptom if alerts else None), ("window", (fired, end), None), ("no_window", None, None):
            tally.ask(part, f"seed {seed}, {symptom}", data, c.names[c.ill], ["--calls", f"{folder}/{seed}.calls"], window, given)


KINDS = {"plateau": plateau, "leak": leak, "silence": silence, "all": all_servers, "quiet": quiet}


def evaluate_kind(folder, tally, kind):
    for seed in range(SEEDS):
        f = Fleet(seed)
        true, begin, end = KINDS[kind](f)
        data = f.write(f"{folder}/{kind}-{seed}")
        asked.load(data, data + ".fleet")
        for words, window in f.hours(begin, end):
            tally.ask(words, f"seed {seed}, {len(f.names)} servers, rows {begin}-{end} of {f.rows}", data + ".fleet", true, window=window)


PUBLIC = {"incidents": ("fleet3", evaluate_incidents), "deployments": ("fleet3", evaluate_deployments), "petshop": ("petshop", evaluate_petshop), "nezha": ("nezha-counters", evaluate_nezha)}
OWN = {"small": evaluate_small, "services": evaluate_services}


def main():
    for name in sys.argv[3:] or [*PUBLIC, *OWN, *KINDS]:
        tally = Tally(name)
        with tempfile.TemporaryDirectory(prefix="whyslow-culprit.") as folder:
            os.makedirs(folder + "/alike")
            os.makedirs(folder + "/alone")
            if name in KINDS:
                evaluate_kind(folder, tally, name)
            elif name in OWN:
                OWN[name](folder, tally)
            elif os.path.isdir(f"{data_dir}/{PUBLIC[name][0]}"):
                PUBLIC[name][1](folder, tally)
            else:
                print(f"{name}: skipped, {data_dir}/{PUBLIC[name][0]} is not there")
        tally.print()


main()
