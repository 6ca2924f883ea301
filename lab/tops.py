"""Who `top` would show first: every process's counters at two moments, sorted by one of them."""
import os
import pathlib

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
COLUMNS = ("cpu", "io", "memory")


def read_process(path):
    name, _, rest = (path / "stat").read_text().rpartition(")")
    fields = rest.split()
    io = dict(line.split(": ") for line in (path / "io").read_text().splitlines())
    return {
        "pid": int(path.name),
        "name": name.partition("(")[2],
        "start": int(fields[19]),
        "cpu": (int(fields[11]) + int(fields[12])) / TICK,
        "memory": int(fields[21]) * PAGE,
        "io": int(io["read_bytes"]) + int(io["write_bytes"]),
    }


def snapshot():
    processes = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            process = read_process(path)
        except (OSError, KeyError):
            continue
        processes[process["pid"], process["start"]] = process
    return processes


def first_two(before, after, column):
    """[pid, name] of the two biggest: by growth between the snapshots, by level for memory."""
    def size(key):
        earlier = before.get(key, {}).get(column, 0) if column != "memory" else 0
        return after[key][column] - earlier

    return [[after[key]["pid"], after[key]["name"]] for key in sorted(after, key=size, reverse=True)[:2]]
