"""Where a slowdown is played: processes in control groups of their own, and everything put back afterwards.

Whatever happens, nothing stays: children die with the lab (a parent-death signal), the control group is killed as a
whole, and what outlives even a kill -9 of the lab (swap file, kernel setting, control groups) is written down before
it is done, so that the next start of the lab undoes it.
"""
import ctypes
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import time

RUN = pathlib.Path("/run/whyslow-lab")
UNDO = RUN / "undo.json"
PR_SET_PDEATHSIG = 1
NORMAL, SHORT = "normal", "short-of-memory"

_libc = ctypes.CDLL(None, use_errno=True)


class Actor:
    """A process on the stage, and all that descend from it."""

    def __init__(self, name, process, exe):
        self.name, self.process, self.exe = name, process, exe
        self.descendants = set()

    def pids(self):
        """Every process it ever was seen to consist of."""
        children = {}
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                pid, rest = int(stat.parent.name), stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(rest[1]), []).append(pid)
        wanted = [self.process.pid]
        for pid in wanted:
            wanted += children.get(pid, [])
        self.descendants.update(wanted)
        return self.descendants


class Groups:
    """Two control groups: one without limits, one that can be made short of memory."""

    def __init__(self):
        self.v2 = find_mount("cgroup2")
        if not self.v2:
            raise SystemExit("the lab needs control groups version 2: mount -t cgroup2 none /sys/fs/cgroup")
        self.top = self.v2 / "whyslow-lab"
        self.dirs = {name: [self.top / name] for name in (NORMAL, SHORT)}
        self.limit = self._memory_limit()

    def _memory_limit(self):
        v1 = find_mount("cgroup", "memory")
        if v1:
            for name, dirs in self.dirs.items():
                dirs.append(v1 / f"whyslow-lab-{name}")
            return self.dirs[SHORT][1] / "memory.limit_in_bytes"
        return self.top / SHORT / "memory.max"

    def make(self):
        self.top.mkdir(exist_ok=True)
        if self.limit.name == "memory.max":
            for parent in (self.v2, self.top):
                (parent / "cgroup.subtree_control").write_text("+memory")
        for path in sum(self.dirs.values(), []):
            path.mkdir(exist_ok=True)

    def set_memory(self, size):
        self.limit.write_text(str(size))

    def remove(self):
        """Kills whoever is inside, and takes the groups away."""
        if self.top.exists():
            (self.top / "cgroup.kill").write_text("1")
        for path in [*sum(self.dirs.values(), []), self.top]:
            for _ in range(100):
                try:
                    path.rmdir()
                except FileNotFoundError:
                    pass
                except OSError:
                    time.sleep(0.1)
                    continue
                break


def find_mount(kind, option=None):
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        _, where, fstype, options = line.split()[:4]
        if fstype == kind and (option is None or option in options.split(",")):
            return pathlib.Path(where)
    return None


def enter(dirs, nice, die_by):
    """Runs in the child, before the program: its own session, in its groups, gone when the lab is gone."""
    os.setsid()
    for path in dirs:
        (path / "cgroup.procs").write_text("0")
    os.nice(nice)
    _libc.prctl(PR_SET_PDEATHSIG, die_by)


class Stage:
    """A context: enter it and the machine is prepared, leave it and the machine is as before."""

    def __init__(self, build, work):
        self.build, self.work = pathlib.Path(build).resolve(), pathlib.Path(work).resolve()
        self.whyslow = str(self.build / "src/whyslow")
        self.programs = self.build / "lab/programs"
        self.groups = Groups()
        self.actors = []
        self.undo = {}

    def __enter__(self):
        RUN.mkdir(parents=True, exist_ok=True)
        self.work.mkdir(parents=True, exist_ok=True)
        self.lock = open(RUN / "lock", "w")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit("another lab is running on this machine") from None
        self._undo_leftovers()
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        self.groups.make()
        self._remember("groups", True)
        self._switch_on_delay_accounting()
        return self

    def __exit__(self, *_):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        for actor in list(self.actors):
            self.stop(actor)
        self._undo_all()

    def _remember(self, what, value):
        self.undo[what] = value
        UNDO.write_text(json.dumps(self.undo))

    def _undo_leftovers(self):
        if UNDO.exists():
            print("an earlier run of the lab was killed: putting back what it left", flush=True)
            self.undo = json.loads(UNDO.read_text())
            self._undo_all()

    def _undo_all(self):
        self.groups.remove()
        if "swap" in self.undo:
            subprocess.run(["swapoff", self.undo["swap"]], check=False, stderr=subprocess.DEVNULL)
            pathlib.Path(self.undo["swap"]).unlink(missing_ok=True)
        if "delayacct" in self.undo:
            pathlib.Path("/proc/sys/kernel/task_delayacct").write_text(self.undo["delayacct"])
        UNDO.unlink(missing_ok=True)
        self.undo = {}

    def _switch_on_delay_accounting(self):
        setting = pathlib.Path("/proc/sys/kernel/task_delayacct")
        if setting.exists():
            self._remember("delayacct", setting.read_text().strip())
            setting.write_text("1")

    def use_swap(self, size):
        """A swap file, for the time of the lab."""
        path = self.work / "swap"
        if "swap" in self.undo:
            return
        self._remember("swap", str(path))
        write_file(path, size)
        path.chmod(0o600)
        subprocess.run(["mkswap", path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        subprocess.run(["swapon", path], check=True)

    def file(self, name, size):
        """A file of real blocks on the disk, made once."""
        path = self.work / name
        if not path.exists() or path.stat().st_size != size:
            write_file(path, size)
        return str(path)

    def start(self, program, *arguments, name=None, group=NORMAL, nice=0, output=None):
        """Starts a program: one of the lab's, under a name of its own if it is given one, or one of the system's."""
        path = self.programs / program
        if path.exists() and name:
            path = self._named(path, name)
        target = str(path) if path.exists() else program
        process = subprocess.Popen(
            [target, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=output or subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, cwd=self.work,
            preexec_fn=lambda: enter(self.groups.dirs[group], nice, signal.SIGKILL))
        try:
            exe = os.readlink(f"/proc/{process.pid}/exe")
        except FileNotFoundError:
            raise SystemExit(f"{program} ended at once (status {process.wait()})") from None
        actor = Actor(name or program, process, exe)
        self.actors.append(actor)
        return actor

    def _named(self, path, name):
        """A copy: a program is known by its executable."""
        copy = self.work / "bin" / name
        copy.parent.mkdir(exist_ok=True)
        if not copy.exists() or copy.read_bytes() != path.read_bytes():
            copy.write_bytes(path.read_bytes())
            copy.chmod(0o755)
        return copy

    def expect_alive(self):
        for actor in self.actors:
            if actor.process.poll() is not None:
                raise SystemExit(f"{actor.name} ended by itself (status {actor.process.returncode}): its case would mean nothing")

    def stop(self, actor):
        for pid in actor.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        actor.process.wait()
        self.actors.remove(actor)


def write_file(path, size):
    subprocess.run(["dd", "if=/dev/urandom", f"of={path}", "bs=1M", f"count={size >> 20}", "oflag=direct"], check=True,
                   stderr=subprocess.DEVNULL)
