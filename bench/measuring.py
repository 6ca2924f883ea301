"""What the areas of this folder share: starting things, reading what they cost, printing figures."""
import contextlib
import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
CGROUPS = 50
BPF_PROG_TYPE_SYSCALL = "31"
started = []  # processes to end when an area fails


def figure(name, value):
    subprocess.run([HERE / "figure", name, f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"], check=True)
    sys.stdout.flush()


def unmeasured(names, reason):
    for name in names:
        subprocess.run([HERE / "figure", name, "unmeasured", reason], check=True)


def read(path):
    return pathlib.Path(path).read_text()


def machine_cpu_seconds():
    """CPU time of everything on the machine, in seconds (/proc/stat: user nice system idle iowait irq softirq steal)."""
    fields = [int(f) for f in read("/proc/stat").splitlines()[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def folder():
    """A folder on disk for stores, with `run` in memory, as /run is on a machine that systemd started."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="whyslow-bench-", dir="/var/tmp"))
    (path / "run").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "whyslow-bench", path / "run"], check=True)
    try:
        yield path
    finally:
        for process in started:
            process.kill()
            process.wait()
        started.clear()
        for _ in range(50):  # the process that answers questions ends a moment after the recorder
            if not subprocess.run(["umount", path / "run"], stderr=subprocess.DEVNULL).returncode:
                break
            time.sleep(0.1)
        else:
            raise RuntimeError(f"{path}/run is still in use")
        shutil.rmtree(path, ignore_errors=True)


def stop(process):
    process.terminate()
    process.wait()


@contextlib.contextmanager
def cgroups(number):
    """`number` control groups for the load, or none where no hierarchy can be written."""
    roots = [line.split()[1] for line in read("/proc/mounts").splitlines() if line.split()[2] == "cgroup2"]
    if not number or not roots:
        yield None
        return
    parent = pathlib.Path(roots[0]) / "whyslow-bench"
    for i in range(number):
        (parent / str(i)).mkdir(parents=True, exist_ok=True)
    try:
        yield parent
    finally:
        remove_cgroups(parent)


def remove_cgroups(parent):
    for path in sorted(parent.glob("*/"), reverse=True):
        for _ in range(50):
            try:
                path.rmdir()
                break
            except OSError:
                time.sleep(0.1)  # its processes are still dying
    with contextlib.suppress(OSError):
        parent.rmdir()


def processes_there():
    """Those of the machine itself, kernel threads included: they count among the processes that are recorded."""
    return len(glob.glob("/proc/[0-9]*"))


@contextlib.contextmanager
def load(build, processes, active, groups=None):
    command = [f"{build}/bench/load", str(processes), str(active)]
    if groups:
        command += [str(CGROUPS), str(groups)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout.readline() != "ready\n":
            raise RuntimeError("the load did not start")
        yield process
    finally:
        process.kill()
        process.wait()


def private_mib(pid):
    """Private resident memory without the rings that a recorder shares with the kernel (mapped BPF maps)."""
    kib, is_ring = 0, False
    for line in read(f"/proc/{pid}/smaps").splitlines():
        word = line.split()
        if not word[0].endswith(":"):
            is_ring = "bpf" in line
        elif word[0] in ("Private_Clean:", "Private_Dirty:", "Private_Hugetlb:") and not is_ring:
            kib += int(word[1])
    return kib / 1024


class Recorder:
    """A recorder with a store of its own, and what it costs."""

    def __init__(self, build, where, *options):
        log = open(where / "log", "w")
        self.process = subprocess.Popen([f"{build}/src/whyslow", "record", "--store", where / "r.db", "--run-dir",
                                         where / "run", *options], stdout=log, stderr=log)
        started.append(self.process)
        self.proc = f"/proc/{self.process.pid}"
        for _ in range(300):
            time.sleep(0.1)
            if "recording every" in read(where / "log"):
                return
            if self.process.poll() is not None:
                break
        raise RuntimeError("the recorder did not start: " + read(where / "log").strip())

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def cpu_ns(self):
        """Exact (sum_exec_runtime) and of every thread: utime and stime are the same in steps of 10 ms."""
        return sum(int(read(path).split()[0]) for path in glob.glob(f"{self.proc}/task/*/schedstat"))

    def answering_ns(self):
        """Of the process that starts the one that waits for questions, of that, and of those that it has forked."""
        pids, new = [], [str(self.process.pid)]
        for _ in range(2):
            new = [child for pid in new for child in read(f"/proc/{pid}/task/{pid}/children").split()]
            pids += new
        return sum(int(read(f"/proc/{pid}/schedstat").split()[0]) for pid in pids)

    def cpu_seconds_coarse(self):
        fields = read(f"{self.proc}/stat").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def bpf_runs(self):
        """Of its BPF programs that others trigger, by number: run time in ns and runs. That of the iterators and of those it calls itself is in
        its own system time."""
        links = json.loads(subprocess.run(["bpftool", "link", "show", "-j"], capture_output=True, check=True).stdout)
        iterators = {link["prog_id"] for link in links if link["type"] == "iter"}
        found = {}
        for path in glob.glob(f"{self.proc}/fdinfo/*"):
            try:
                fields = dict(line.split(":\t", 1) for line in read(path).splitlines() if ":\t" in line)
            except FileNotFoundError:
                continue  # closed in the meantime: no program's, those stay open
            program = int(fields.get("prog_id", 0)) if "run_time_ns" in fields else 0
            called = fields.get("prog_type") == BPF_PROG_TYPE_SYSCALL
            if program and not called and program not in iterators:
                found.setdefault(program, (int(fields["run_time_ns"]), int(fields["run_cnt"])))
        return found

    def bpf_ns(self):
        return sum(took for took, _ in self.bpf_runs().values())

    def voluntary_switches(self):
        return sum(int(line.split()[1]) for path in glob.glob(f"{self.proc}/task/*/status")
                   for line in read(path).splitlines() if line.startswith("voluntary_ctxt_switches"))

    def written(self):
        return int(next(line.split()[1] for line in read(f"{self.proc}/io").splitlines() if "write_bytes" in line))

    def private_mib(self):
        return private_mib(self.process.pid)


@contextlib.contextmanager
def bpf_statistics():
    path = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")
    before = path.read_text()
    path.write_text("1")
    try:
        yield
    finally:
        path.write_text(before)
