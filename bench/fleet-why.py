"""What `whyslow fleet why --json` answers about public data with known answers, asked as a user asks: all counters,
default options, a window, and the symptom where the case has one.

    fleet-why.py WHYSLOW DATA petshop|calls|smd|asd|nezha|seconds|alone|made|cycle|cases [LATE ...]

Protocols of the sets, and how to add one as DATA/cases.jsonl: docs/fleet-sets.md. LATE (seconds, default 0 10 30 60 120) moves the window's beginning; "none" asks
without a window, "before" with only the time before the window as reference. Prints "RESULT NAME VALUE" for
bench/eval-fleet, and lines for people.
"""
import array
import csv
import glob
import gzip
import json
import lzma
import math
import os
import random
import subprocess
import sys
import tempfile
from datetime import datetime, timezone

WINDOW = 20  # rows of a normal window
ALARM = 0.04
NORMAL_WINDOWS = 40  # of a machine
whyslow, data_dir = sys.argv[1], os.path.abspath(sys.argv[2])  # links to the data are laid elsewhere


def stamp(seconds):
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def why(data, *options):
    """The answer, also that nothing is unusual (status 1), or None where there is none."""
    command = [whyslow, "fleet", "why", data, "--json", "--top", "0", "--incidents", os.devnull, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    answer = json.loads(done.stdout) if done.returncode in (0, 1) else {}
    return answer if "servers" in answer else None


def load(folder, output, *options):
    subprocess.run([whyslow, "fleet", "load", folder, "--output", output, *options], check=True, capture_output=True)


class Case:
    """One question: options without the window; the window in seconds; a true server, or true counters."""

    def __init__(self, data, window, options=(), server=None, counters=(), kind="all"):
        self.data, self.window, self.options = data, window, list(options)
        self.server, self.counters, self.kind = server, frozenset(counters), kind

    def ask(self, late):
        begin, end = self.window
        options = list(self.options)
        if late == "none":
            return why(self.data, *options)
        if late == "before":
            options += ["--usual-to", stamp(begin)]
        else:
            begin = min(begin + int(late), end - 1)
        return why(self.data, *options, "--from", stamp(begin), "--to", stamp(end))


def servers_of(findings):
    order = []
    for x in findings:
        if x.get("server") and x["server"] not in order:
            order.append(x["server"])
    return order


WITH_SYMPTOM = ("explained_by", "unusual", "servers")
WITHOUT = ("servers", "unusual", "explained_by")


def findings_of(answer, name):
    if not answer or name not in answer:
        return []
    return answer[name]["findings"] if isinstance(answer[name], dict) else answer[name]


def rank_of(answer, name, server):
    order = servers_of(findings_of(answer, name))
    return order.index(server) + 1 if server in order else 999


def share(ranks, k):
    return sum(r <= k for r in ranks) / len(ranks)


def result(name, value, late="0"):
    """Of late windows the first place alone is a figure (bench/goals), and only of those that have a goal."""
    if late == "0" or (late in ("60", "120", "none") and name.endswith(("_1", "_100"))):
        print(f"RESULT fleet.{name}{late_name(late)} {value:.4f}", flush=True)


def late_name(late):
    return "" if late == "0" else "_none" if late == "none" else f"_late_{late}"


def ask_servers(set_name, cases, lates, lists):
    """Ranks of the true server, per list of the answer, the first of them as the result; top 1/3/5."""
    for late in lates:
        ranks = {name: {} for name in lists}
        for case in cases:
            answer = case.ask(late)
            for name in lists:
                rank = rank_of(answer, name, case.server)
                for kind in {"all", case.kind}:
                    ranks[name].setdefault(kind, []).append(rank)
        for name in lists:
            for kind, r in sorted(ranks[name].items()):
                print(f"{set_name:8} late {late:6} {name:12} {kind:8} {share(r, 1):.3f} {share(r, 3):.3f} {share(r, 5):.3f}  of {len(r)}", flush=True)
        for k in 1, 3, 5:
            result(f"{set_name}.why_top_{k}", share(ranks[lists[0]]["all"], k), late)
        if "CPU" in ranks[lists[0]]:
            result(f"{set_name}.why_cpu_worst_rank", max(ranks[lists[0]]["CPU"]), late)


# --- PetShop: the normal days and one issue in one folder, as one who exported both would ask ---


def petshop_cases(folder, calls=False):
    for issue in sorted(glob.glob(f"{data_dir}/petshop/dataset/*/t*/issue_*")):
        here = os.path.join(folder, issue.split("/")[-3] + "-" + os.path.basename(issue))
        os.mkdir(here)
        os.symlink(os.path.join(issue, "../../noissue/metrics.csv"), here + "/noissue.csv")
        os.symlink(os.path.join(issue, "metrics.csv"), here + "/issue.csv")
        with open(issue + "/target.json") as file:
            truth = json.load(file)
        with open(issue + "/metrics.csv") as file:
            times = [float(row[0]) for row in csv.reader(file) if row[0].replace(".", "").isdigit()]
        step = times[1] - times[0]
        symptom = f"{truth['target']['metric']}.{truth['target']['agg']}@{truth['target']['node']}"
        options = ["--symptom", symptom]
        load(here, here + ".fleet")
        if calls:
            options += ["--calls", os.path.join(issue, "../../graph.csv")]
        yield Case(here + ".fleet", (times[0], times[-1] + step / 2), options, truth["root_cause"]["node"])


def ask_calls(cases):
    """PetShop once more with its graph of calls."""
    ranks = [rank_of(case.ask("0"), "explained_by", case.server) for case in cases]
    print(f"petshop  --calls  {share(ranks, 1):.3f} {share(ranks, 3):.3f} {share(ranks, 5):.3f}  of {len(ranks)}", flush=True)
    result("petshop.why_calls_top_1", share(ranks, 1))


# --- SMD and ASD ---


def read_f32(base, part, counters):
    path = glob.glob(f"{base}.{part}.f32.*")[0]
    with (lzma if path.endswith("xz") else gzip).open(path) as file:
        values = array.array("f", file.read())
    return [values[i : i + counters] for i in range(0, len(values) - counters + 1, counters)]


def write_csv(path, rows, begin, step):
    with open(path, "w") as file:
        file.write("time," + ",".join(f"c{c + 1}" for c in range(len(rows[0]))) + "\n")
        for i, row in enumerate(rows):
            file.write(f"{begin + i * step}," + ",".join(f"{x:.7g}" for x in row) + "\n")


BEGIN = 1_600_000_000


class Machine:
    """One machine of SMD or ASD: `alone` is the test half, `both` the train half and then the test half."""

    def __init__(self, base, folder, counters, step):
        name = os.path.basename(base)
        train, test = read_f32(base, "train", counters), read_f32(base, "test", counters)
        self.step, self.rows, self.begin = step, len(test), BEGIN + len(train) * step
        self.alone, self.both = os.path.join(folder, name + ".alone"), os.path.join(folder, name + ".both")
        for target, parts in (self.alone, (test,)), (self.both, (train, test)):
            os.mkdir(target + ".csv")
            write_csv(f"{target}.csv/machine.csv", [row for part in parts for row in part], self.begin - (len(parts) - 1) * len(train) * step, step)
            load(target + ".csv", target)
        self.segments = []
        with open(base + ".interpretation.txt") as file:
            for line in file:
                span, dims = line.strip().split(":")
                self.segments.append((*map(int, span.split("-")), {f"c{d}" for d in dims.split(",")}))

    def window(self, begin, end):
        return self.begin + begin * self.step, self.begin + end * self.step

    def labelled(self, begin, end):
        return any(b < end + 1 and e >= begin for b, e, _ in self.segments)


def hit_rate(answer, truth, factor):
    most = math.floor(factor * len(truth) + 1e-9)
    return sum(x["counter"] in truth for x in findings_of(answer, "unusual")[:most]) / len(truth)


def alarmed(answer):
    servers = findings_of(answer, "servers")
    return bool(servers) and servers[0].get("p") is not None and servers[0]["p"] <= ALARM


def measure_alarms(set_name, machines, before):
    """Normal windows of the test half that raise an alarm: against all the rest of it, or against the half before."""
    false, true = [], []
    for m in machines:
        options = ["--usual-to", stamp(m.begin)] if before else []
        data = m.both if before else m.alone
        stride = WINDOW * max(1, m.rows // WINDOW // NORMAL_WINDOWS)
        for begin in range(0, m.rows - WINDOW + 1, stride):
            if not m.labelled(begin, begin + WINDOW):
                false.append(alarmed(Case(data, m.window(begin, begin + WINDOW), options).ask("0")))
        true += [alarmed(Case(data, m.window(b, e), options).ask("0")) for b, e, _ in m.segments]
    words = "half before" if before else "test half"
    print(f"{set_name:8} alarm, {words}: normal windows {sum(false)} of {len(false)}, labelled {sum(true)} of {len(true)}", flush=True)
    suffix = "_before" if before else ""
    result(f"{set_name}.why_false_alarms{suffix}", sum(false) / len(false))
    result(f"{set_name}.why_detected{suffix}", sum(true) / len(true))


def evaluate_machines(set_name, counters, step, lates, folder):
    bases = [p[: -len(".interpretation.txt")] for p in sorted(glob.glob(f"{data_dir}/{set_name}/*.interpretation.txt"))]
    machines = [Machine(base, folder, counters, step) for base in bases]
    for late in (x for x in lates if x != "none"):  # each machine has many segments
        at100, at150 = [], []
        for m in machines:
            for begin, end, truth in m.segments:
                if late == "before":
                    answer = Case(m.both, m.window(begin, end), ["--usual-to", stamp(m.begin)]).ask("0")
                else:
                    answer = Case(m.alone, m.window(begin, end)).ask(late)
                at100.append(hit_rate(answer, truth, 1))
                at150.append(hit_rate(answer, truth, 1.5))
        print(f"{set_name:8} late {late:6} HitRate@100 {sum(at100) / len(at100):.3f} @150 {sum(at150) / len(at150):.3f}  of {len(at100)}", flush=True)
        result(f"{set_name}.why_hitrate_100", sum(at100) / len(at100), late)
        result(f"{set_name}.why_hitrate_150", sum(at150) / len(at150), late)
    for before in False, True:
        measure_alarms(set_name, machines, before)


# --- Nezha ---


def nezha_cases(day, folder):
    base = f"{data_dir}/nezha-counters/rca_data/{day}"
    data = os.path.join(folder, day + ".fleet")
    load(base + "/metric", data, "--match", "[!N]*")
    with open(f"{base}/{day}-fault_list.json") as file:
        faults = [x for hour in json.load(file).values() for x in hour]
    for x in faults:
        at = datetime.strptime(x["inject_time"], "%Y-%m-%d %H:%M:%S").replace(tzinfo=timezone.utc).timestamp()
        kind = "CPU" if "cpu" in x["inject_type"] else "network" if "network" in x["inject_type"] else "code"
        yield Case(data, (at, at + 240), [], x["inject_pod"], kind=kind)


# --- a small set a second: what DBSherlock and RCAEval look like ---


ALONE = "amber birch cedar delta ember fjord grove heron inlet jetty knoll larch".split()


def seconds_cases(folder, alone=False):
    """Nine minutes of 12 servers x 15 counters, a fault of three in the sixth: a step, ramp, or burst on few counters of one. By
    their names they do the same work, or (alone) each its own."""
    names = ALONE if alone else [f"node-{chr(97 + s)}" for s in range(12)]
    for seed in range(15):
        rng = random.Random(seed)
        ill, shape = rng.randrange(12), ("step", "ramp", "burst")[seed % 3]
        begin = rng.randrange(300, 340)
        here = f"{folder}/seconds-{seed}"
        os.mkdir(here)
        levels = [(10 ** rng.uniform(0, 5), rng.uniform(0.02, 0.2), rng.uniform(0, 0.9)) for _ in range(15)]
        for s in range(12):
            state, lines = [0.0] * 15, ["time," + ",".join(f"counter{c}" for c in range(15))]
            for t in range(540):
                row = []
                for c, (level, noise, memory) in enumerate(levels):
                    state[c] = memory * state[c] + math.sqrt(1 - memory * memory) * rng.gauss(0, noise)
                    x = level * math.exp(state[c])
                    if s == ill and begin <= t < begin + 180 and c < 4:
                        effect = 1.2 if shape == "step" else 2.4 * (t - begin) / 180 if shape == "ramp" else 4.0 * (t % 5 == 0)
                        x *= 1 + effect * noise * 3
                    row.append(f"{x:.6g}")
                lines.append(f"{BEGIN + t}," + ",".join(row))
            with open(f"{here}/{names[s]}.csv", "w") as file:
                file.write("\n".join(lines) + "\n")
        load(here, here + ".fleet")
        yield Case(here + ".fleet", (BEGIN + begin, BEGIN + begin + 180), [], names[ill], kind=shape)


# --- the fleet of the README: a database's disk, then what calls the database, then what calls that ---


def made_fleet(folder, seed):
    """Seven hours of db-1, some api, web and cache servers; the window, and when web-1 fell ill with what latency."""
    rng = random.Random(seed)
    here = f"{folder}/made-{seed}"
    os.mkdir(here)
    begin, effect, lag = rng.randrange(300, 360), rng.uniform(1.5, 4), rng.randrange(1, 4)
    starts = {"db": begin, "api": begin + lag, "web": begin + 2 * lag, "cache": 1000}
    names = ["db-1"]
    for role, n in ("api", rng.randrange(1, 3)), ("web", rng.randrange(2, 7)), ("cache", 2):
        names += [f"{role}-{i + 1}" for i in range(n)]
    for name in names:
        role = name.split("-")[0]
        lines = ["time,cpu_percent,disk_util_percent,disk_await_ms,request_latency_ms,errors"]
        for t in range(420):
            ill = starts[role] <= t < starts[role] + 40
            k, cycle = 1 + effect * ill, 1 + 0.1 * math.sin(t / 60)
            disk = min(100, rng.gauss(18, 2) * (k if role == "db" else 1))
            wait = rng.gauss(4, 0.4) * (k * 1.5 if role == "db" and ill else 1)
            latency = {"db": 5, "api": 20, "web": 41, "cache": 1}[role] * cycle * rng.gauss(1, 0.04) * (k if role in ("api", "web") else 1)
            errors = max(0, rng.gauss(1, 0.5) + 3 * (role == "web" and ill))
            lines.append(f"{BEGIN + 60 * t},{rng.gauss(30, 3) * cycle:.2f},{disk:.2f},{wait:.2f},{latency:.2f},{errors:.2f}")
        with open(f"{here}/{name}.csv", "w") as file:
            file.write("\n".join(lines) + "\n")
    window = BEGIN + 60 * begin, BEGIN + 60 * (begin + 40)
    return Case(here, window, ["--symptom", "request_latency_ms@web-1"]), BEGIN + 60 * (begin + 2 * lag), 41 * (1 + effect)


def wrong_about(answer, since, latency):
    """What of the answer is not true, in words."""
    roles = [x["server"].split("-")[0] for x in answer["chain"]]
    told = [datetime.fromisoformat(x["since"].replace("Z", "+00:00")).timestamp() for x in answer["chain"] if x["server"] == "web-1"]
    facts = {
        "culprit": answer["culprit"] and answer["culprit"]["server"] == "db-1" and "disk" in answer["culprit"]["counter"],
        "cause": answer["cause"] == "disk",
        "value": abs(answer["now"] - latency) < 0.2 * latency and 41 < answer["normal_p95"] < 55,
        "since": bool(told) and abs(told[0] - since) <= 60,
        "chain": sorted(roles, key=["db", "api", "web", "cache"].index) == roles and roles[:1] == ["db"] and "cache" not in roles,
    }
    return [name for name, true in facts.items() if not true]


def evaluate_made(folder):
    right = 0
    for seed in range(20):
        case, since, latency = made_fleet(folder, seed)
        answer = case.ask("0")
        wrong = wrong_about(answer, since, latency) if answer else ["no answer"]
        right += not wrong
        if wrong:
            print(f"made     {seed}: wrong about {', '.join(wrong)}")
    print(f"made     all true in {right} of 20")
    result("made.why_all_true", right / 20)


# --- a rise on one server that is not larger than the daily cycle of all ---


def cycle_fleet(folder, seed, ill_too):
    """Days at one row a minute; every counter swings by 30 % a day. Even seeds: 5-10 servers of one role, three days or less; odd ones: three servers
    that are unlike each other, four days or more. One of them has 30 % more on one to three of its five counters for 40 to 180 minutes."""
    rng = random.Random(seed)
    alike = seed % 2 == 0
    here = f"{folder}/cycle-{seed}-{'ill' if ill_too else 'clean'}"
    os.mkdir(here)
    names = [f"web-{i + 1}" for i in range(rng.randrange(5, 11))] if alike else ["gateway", "orders", "ledger"]
    rows = 1440 * (rng.randrange(1, 4) if alike else rng.randrange(4, 7))
    ill, begin, length, touched = rng.choice(names), rng.randrange(rows // 4, rows - 200), rng.randrange(40, 181), rng.randrange(1, 4)
    counters = [(10 ** rng.uniform(0, 4), rng.uniform(0.02, 0.06), rng.uniform(0.2, 0.8), rng.uniform(0, 2 * math.pi)) for _ in range(5)]
    for name in names:
        state, lines = [0.0] * 5, ["time,requests,cpu_percent,latency_ms,sent_bytes,connections"]
        own = rng.uniform(0, 2 * math.pi)
        for t in range(rows):
            row = []
            for c, (level, noise, memory, phase) in enumerate(counters):
                state[c] = memory * state[c] + math.sqrt(1 - memory * memory) * rng.gauss(0, noise)
                x = level * (1 + 0.3 * math.sin(2 * math.pi * t / 1440 + phase + (0 if alike else own))) * math.exp(state[c])
                rises = ill_too and name == ill and begin <= t < begin + length and c < touched
                row.append(f"{x * (1.3 if rises else 1):.6g}")
            lines.append(f"{BEGIN + 60 * t}," + ",".join(row))
        with open(f"{here}/{name}.csv", "w") as file:
            file.write("\n".join(lines) + "\n")
    return Case(here, (BEGIN + 60 * begin, BEGIN + 60 * (begin + length)), server=ill)


def seconds_of(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def overlap(answer, window):
    """The time that the window found and the true one share, as a part of the time that either covers."""
    begin, end = seconds_of(answer["window"]["start"]), seconds_of(answer["window"]["end"])
    common = min(end, window[1]) - max(begin, window[0])
    return common / (max(end, window[1]) - min(begin, window[0]))


def evaluate_cycle(folder):
    found = quiet = 0
    for seed in range(20):
        case = cycle_fleet(folder, seed, True)
        answer = case.ask("none")
        right = bool(answer) and not answer["nothing_unusual"] and answer["server"] == case.server and overlap(answer, case.window) >= 0.5
        found += right
        if not right:
            print(f"cycle    {seed}: {answer['summary'] if answer else 'no answer'}")
        answer = cycle_fleet(folder, seed, False).ask("none")
        quiet += not answer or answer["nothing_unusual"]
        if answer and not answer["nothing_unusual"]:
            print(f"cycle    {seed}, clean: {answer['summary']}")
    print(f"cycle    found {found} of 20, quiet {quiet} of 20")
    result("cycle.why_found", found / 20)
    result("cycle.why_quiet", quiet / 20)


# --- any further set ---


def listed_cases(folder):
    """DATA/cases.jsonl, a case a line: data (below DATA, as `fleet load` takes it), from and to (seconds since 1970), server (the
    true one); symptom, calls (a file below DATA), kind."""
    with open(f"{data_dir}/cases.jsonl") as file:
        cases = [json.loads(line) for line in file if line.strip()]
    loaded = {}
    for x in cases:
        if x["data"] not in loaded:
            loaded[x["data"]] = f"{folder}/{len(loaded)}.fleet"
            load(os.path.join(data_dir, x["data"]), loaded[x["data"]])
        options = ["--symptom", x["symptom"]] if x.get("symptom") else []
        options += ["--calls", os.path.join(data_dir, x["calls"])] if x.get("calls") else []
        yield Case(loaded[x["data"]], (x["from"], x["to"]), options, x["server"], kind=x.get("kind", "all"))


def ask_listed(folder, lates):
    cases = list(listed_cases(folder))
    with_symptom = [c for c in cases if "--symptom" in c.options]
    for part, lists in (with_symptom, WITH_SYMPTOM), ([c for c in cases if c not in with_symptom], WITHOUT):
        if part:
            ask_servers("cases" if lists is WITHOUT else "symptom", part, lates, lists)


def main():
    set_name, lates = sys.argv[3], sys.argv[4:] or ["0", "10", "30", "60", "120", "none", "before"]
    with tempfile.TemporaryDirectory(prefix="whyslow-fleet.") as folder:
        if set_name == "petshop":
            ask_servers("petshop", list(petshop_cases(folder)), lates, WITH_SYMPTOM)
        elif set_name == "calls":
            ask_calls(list(petshop_cases(folder, calls=True)))
        elif set_name == "smd":
            evaluate_machines("smd", 38, 60, lates, folder)
        elif set_name == "asd":
            evaluate_machines("asd", 19, 300, lates, folder)
        elif set_name == "nezha":  # without a window a day of two dozen faults is not a question
            lates = [x for x in lates if x != "none"]
            ask_servers("nezha_ob", list(nezha_cases("2022-08-22", folder)), lates, WITHOUT)
            ask_servers("nezha_tt", list(nezha_cases("2023-01-29", folder)), lates, WITHOUT)
        elif set_name == "made":
            evaluate_made(folder)
        elif set_name == "cycle":
            evaluate_cycle(folder)
        elif set_name == "cases":
            ask_listed(folder, lates)
        elif set_name in ("seconds", "alone"):
            ask_servers(set_name, list(seconds_cases(folder, set_name == "alone")), lates, WITHOUT)


if __name__ == "__main__":
    main()
