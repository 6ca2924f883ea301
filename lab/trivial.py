"""The simplest answer that could be right: of the resource with the highest pressure, who uses most more than it usually does.

Every model has to be better than this, by a lot.
"""
import collections
import statistics

RECENT = 10  # seconds before the press
USES = {"cpu": ("cpu.time",), "io": ("io.read_bytes", "io.write_bytes"), "memory": ("mem.anon",)}


def rows(kept):
    """(Unix time, kind, pid, exe, name, values) of each process and second of the recording."""
    for at, row in kept.rows():
        yield at, row["kind"], row.get("pid"), row.get("exe"), row["name"], row["values"]


def rank(rows, pressed):
    """Programs as suspects are told, the likeliest first."""
    rows = [row for row in rows if row[0] <= pressed]
    pressure = {name: [values.get(f"psi.{name}.some", 0) for at, kind, *_, values in rows if kind == "system" and at > pressed - RECENT]
                for name in USES}
    short = max(USES, key=lambda name: sum(pressure[name]))
    used, seconds, latest = collections.defaultdict(collections.Counter), {int(row[0]) for row in rows}, {}
    for at, kind, pid, exe, name, values in rows:
        if kind == "process":
            found = [values[feature] for feature in USES[short] if feature in values]
            if found:
                used[exe or name][int(at)] += sum(found)
            latest[exe or name] = {"pid": pid, "exe": exe, "name": name}
    recent, past = ([second for second in seconds if (second > pressed - RECENT) == late] for late in (True, False))
    def levels(by, some):
        """What is not said was nothing; of memory, what it was."""
        return [by[second] for second in some if second in by or short != "memory"] or [0]
    growth = {who: statistics.fmean(levels(by, recent)) - statistics.median(levels(by, past)) for who, by in used.items()}
    return [latest[who] for who in sorted(growth, key=growth.get, reverse=True)]
