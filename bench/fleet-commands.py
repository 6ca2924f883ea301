"""What a user waits for with 50 million values: `fleet load` of CSV files, and `fleet why` about what it wrote.

    fleet-commands.py BUILD [RUNS]

174 servers of one role with 200 counters and a row a minute for a day, all with a daily cycle. The commands take turns; a figure is the median of
RUNS. Prints "figure ..." lines (bench/figure), and the time that passed.
"""
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

SERVERS = 174
FIRST = 1700000000  # seconds; the first row
HOUR = 3600
HERE = pathlib.Path(__file__).resolve().parent


def measure(command):
    """Seconds that passed, and of CPU time. Status 1: nothing is unusual."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    status = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
    seconds, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if status not in (0, 1):
        sys.exit(f"{' '.join(command)}: status {status}")
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    build, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with tempfile.TemporaryDirectory(prefix="whyslow-fleet.") as folder:
        data, loaded = os.path.join(folder, "csv"), os.path.join(folder, "loaded.fleet")
        os.mkdir(data)
        subprocess.run([f"{build}/bench/fleet-scale", "write", data, str(SERVERS)], check=True)
        size = sum(path.stat().st_size for path in pathlib.Path(data).iterdir())
        for path in pathlib.Path(data).iterdir():  # none waits for the disk
            path.read_bytes()
        why = [f"{build}/src/whyslow", "fleet", "why", loaded]
        commands = {
            "load_command": [f"{build}/src/whyslow", "fleet", "load", data, "--output", loaded],
            "why_window": [*why, "--from", f"@{FIRST + 12 * HOUR}", "--to", f"@{FIRST + 12 * HOUR + 1800}"],
            "why_long_window": [*why, "--from", f"@{FIRST + 12 * HOUR}", "--to", f"@{FIRST + 15 * HOUR}"],
            "why": why,
        }
        taken = {name: [] for name in commands}
        for _ in range(runs):
            for name, command in commands.items():
                taken[name].append(measure(command))
    for name, times in taken.items():
        passed, cpu = (statistics.median(x) for x in zip(*times))
        print(f"  {name}: {passed:.2f} s, {cpu:.2f} s of CPU time; {runs} runs")
        if name == "load_command":
            subprocess.run([HERE / "figure", "fleet.load_command_mb_per_s", f"{size / passed / 1e6:.0f}"], check=True)
        subprocess.run([HERE / "figure", f"fleet.{name}_cpu_s", f"{cpu:.2f}"], check=True)


main()
