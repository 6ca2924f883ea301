"""Who `top` would show first: every process's counters at two moments, sorted by one of them."""
import itertools
import os
import pathlib

from score import STAGE

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
        "in_kernel": (int(fields[12]) + int(fields[14])) / TICK,  # its ended children's as well, as in the next
        "with_children": sum(map(int, fields[11:15])) / TICK,
        "memory": int(fields[21]) * PAGE,
        "io": int(io["read_bytes"]) + int(io["write_bytes"]),
        "written": int(io["write_bytes"]),
    }


def is_ours(pid, ours):
    """Whether it is one of the lab's programs; who has ended since was in nobody's list."""
    try:
        return pid in ours or STAGE in pathlib.Path(f"/proc/{pid}/cgroup").read_text()
    except OSError:
        return False


def snapshot():
    processes = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            process = read_process(path)
        except (OSError, KeyError):
            continue
        processes[process["pid"], process["start"]] = process
    return processes


def first_two(before, after, column, ours):
    """[pid, name] of the two biggest: by growth between the snapshots, by level for memory. Strangers are passed over, as they
    are in answers."""
    def size(key):
        earlier = before.get(key, {}).get(column, 0) if column != "memory" else 0
        return after[key][column] - earlier

    biggest = (after[key] for key in sorted(after, key=size, reverse=True) if is_ours(key[0], ours))
    return [[process["pid"], process["name"]] for process in itertools.islice(biggest, 2)]


def part_of(before, after, pids, part, whole, least):
    """Of what these processes used between the snapshots one part, 0..1; None: less than `least` in all."""
    def growth(what):
        return sum(after[key][what] - before.get(key, {}).get(what, 0) for key in after if key[0] in pids)

    return growth(part) / growth(whole) if growth(whole) >= least else None


def kernel_part(before, after, pids):
    """Of their CPU time what they spent in the kernel, with their ended children."""
    return part_of(before, after, pids, "in_kernel", "with_children", 0.1)


def written_part(before, after, pids):
    """Of the bytes that they had the disks move what they wrote."""
    return part_of(before, after, pids, "written", "io", 1 << 20)


def strangers(before, after, seconds, ours):
    """CPUs' worth of work that processes other than `ours` (pids) and kernel threads did between the snapshots, and who did most."""
    used = {key: after[key]["cpu"] - before[key]["cpu"] for key in after
            if key in before and key[0] not in ours and after[key]["memory"]}  # kernel threads have none
    most = max(used, key=used.get, default=None)
    return sum(used.values()) / seconds, after[most]["name"] if most else None


def machine_cpu():
    """Seconds that all CPUs were busy since the machine's start."""
    user, nice, system, _, _, irq, softirq, steal = map(int, pathlib.Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / TICK
