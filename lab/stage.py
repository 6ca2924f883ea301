"""Where a slowdown is played: processes in control groups of their own, and everything put back afterwards.

Whatever happens, nothing stays: children die with the lab (a parent-death signal), the control group is killed as a
whole, and what outlives even a kill -9 of the lab (swap file, kernel setting, control groups) is written down before
it is done, so that the next start of the lab undoes it.
"""
import ctypes
import errno
import fcntl
import json
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import time

import tops

RUN = pathlib.Path("/run/whyslow-lab")
UNDO = RUN / "undo.json"
PR_SET_PDEATHSIG = 1
NORMAL, SHORT, QUOTA = "normal", "short-of-memory", "quota"
STRANGERS_AT_MOST = 0.5  # CPUs' worth of work by programs that are not the lab's: the case would be theirs as well
LATE_AT_MOST = 3  # seconds that a press may come late: more, and nothing of the case ran as it was meant to
MEMORY_TRIES = 50
WEIGHT = 24  # of the lab's groups, where others use the machine: programs' worth
LOOKS_APART = 2.5  # seconds: twice before a press
PERIOD = 100000  # microseconds of a CPU quota's period
FAR = "whyslow-lab-far"  # the network namespace that stands for another machine
TABLE_SIZE = "/proc/sys/net/netfilter/nf_conntrack_max"
HERE_ADDRESS, FAR_ADDRESS = "10.211.7.1", "10.211.7.2"

_libc = ctypes.CDLL(None, use_errno=True)


class SceneBroken(Exception):
    """What happened on the stage is not what the scenario says: its case would mean nothing."""


class Actor:
    """A process on the stage, and all that descend from it."""

    def __init__(self, name, process, exe):
        self.name, self.process, self.exe = name, process, exe
        self.descendants, self.exes, self.names = {process.pid}, {exe}, {name}

    def look(self, children):
        """Remembers who descends from it now. children: pid -> pids."""
        wanted = [self.process.pid]
        for pid in wanted:
            wanted += children.get(pid, [])
        for pid in wanted[1:]:
            try:
                self.exes.add(os.readlink(f"/proc/{pid}/exe"))
                self.names.add(pathlib.Path(f"/proc/{pid}/comm").read_text().strip())
            except OSError:
                pass
        self.descendants.update(wanted)

    def pids(self):
        """Every process it ever was seen to consist of."""
        self.look(read_children())
        return self.descendants

    def kill(self):
        """All of them, and waits for the first."""
        for pid in self.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()


def read_children():
    """Of all processes: pid -> the pids it is the parent of."""
    children = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, rest = int(stat.parent.name), stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(rest[1]), []).append(pid)
    return children


class Groups:
    """Control groups: one without limits, one that can be made short of memory, one that can be given a CPU quota."""

    def __init__(self):
        self.v2 = find_mount("cgroup2")
        if not self.v2:
            raise SystemExit("the lab needs control groups version 2: mount -t cgroup2 none /sys/fs/cgroup")
        self.top = self.v2 / "whyslow-lab"
        self.dirs = {name: [self.top / name] for name in (NORMAL, SHORT, QUOTA)}
        self.controllers = []
        self.limit = self._control("memory", SHORT, "memory.limit_in_bytes", "memory.max")
        self.quota = self._control("cpu", QUOTA, "cpu.cfs_quota_us", "cpu.max")
        self.volume_limit = self._volume_limit()

    def _control(self, controller, group, v1_file, v2_file):
        """The file that holds the group's limit, under whichever version has the controller here."""
        v1 = find_mount("cgroup", controller)
        if not v1:
            self.controllers.append(controller)
            return self.top / group / v2_file
        for name, dirs in self.dirs.items():
            dirs.append(v1 / f"whyslow-lab-{name}")
        return v1 / f"whyslow-lab-{group}" / v1_file

    def _volume_limit(self):
        """NORMAL's group that limits what volumes do (version 1 only), or None."""
        v1 = find_mount("cgroup", "blkio")
        if v1:
            self.dirs[NORMAL].append(v1 / f"whyslow-lab-{NORMAL}")
        return v1 and self.dirs[NORMAL][-1]

    def make(self):
        self.top.mkdir(exist_ok=True)
        for parent in (self.v2, self.top) if self.controllers else ():
            (parent / "cgroup.subtree_control").write_text(" ".join("+" + name for name in self.controllers))
        for path in sum(self.dirs.values(), []):
            path.mkdir(exist_ok=True)

    def set_memory(self, size):
        """Bytes that SHORT may use; None: as much as there is."""
        none = "max" if self.limit.name == "memory.max" else "-1"
        for tries_left in reversed(range(MEMORY_TRIES)):
            try:
                self.limit.write_text(none if size is None else str(size))
                return
            except OSError as error:
                if error.errno != errno.EBUSY or not tries_left:
                    raise
                time.sleep(0.2)  # version 1 gives up where pages are on their way to the disk

    def set_quota(self, percent):
        """How much of one CPU QUOTA may use; None: as much as there is."""
        allowed = percent and str(percent * PERIOD // 100)
        if self.quota.name == "cpu.max":
            self.quota.write_text(f"{allowed or 'max'} {PERIOD}")
        else:
            self.quota.write_text(allowed or "-1")

    def come_first(self):
        """On a machine that others use: all that is played gets WEIGHT times a program's part of the CPUs, however many programs they run."""
        for path in self.dirs[NORMAL] + self.dirs[SHORT] + ([self.top] if "cpu" in self.controllers else []):
            for file, weight in (("cpu.shares", 1024 * WEIGHT), ("cpu.weight", 100 * WEIGHT)):
                if (path / file).exists():
                    (path / file).write_text(str(weight))

    def allow_real_time(self):
        """Version 1 gives a group's real-time programs no time unless it is told to; the groups go, and this with them."""
        for path in self.dirs[NORMAL]:
            if (path / "cpu.rt_runtime_us").exists():
                (path / "cpu.rt_runtime_us").write_text("900000")

    def cpu(self):
        """Seconds of CPU that everybody on the stage has used so far, those who have ended as well."""
        return int((self.top / "cpu.stat").read_text().split()[1]) / 1e6  # "usage_usec N" comes first

    def freeze(self, yes):
        """Everybody stands still, or goes on."""
        (self.top / "cgroup.freeze").write_text(str(int(yes)))

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


def enter(dirs, nice, die_by, user=None):
    """Runs in the child, before the program: its own session, in its groups, gone when the lab is gone."""
    os.setsid()
    for path in dirs:
        (path / "cgroup.procs").write_text("0")
    os.setpriority(os.PRIO_PROCESS, 0, nice)  # whatever the lab itself has
    if user:
        who = pwd.getpwnam(user)
        os.setgroups([])
        os.setgid(who.pw_gid)
        os.setuid(who.pw_uid)
    _libc.prctl(PR_SET_PDEATHSIG, die_by)  # forgotten at setuid(), so after it


def has_program(name):
    return find_program(name) is not None


def find_program(name):
    """Also what Debian keeps out of the PATH."""
    beside = sorted(pathlib.Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin") or (str(beside[-1]) if beside else None)


def finish(*command, folder=None):
    """Runs a program to its end, which must be a good one."""
    subprocess.run([str(part) for part in command], cwd=folder, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Stage:
    """A context: enter it and the machine is prepared, leave it and the machine is as before."""

    finish = staticmethod(finish)

    def __init__(self, build, work, background="normal"):
        self.build, self.work = pathlib.Path(build).resolve(), pathlib.Path(work).resolve()
        self.background = background
        self.strangers_at_most, self.late_at_most = STRANGERS_AT_MOST, LATE_AT_MOST
        self.kept = self.work / ("" if background == "normal" else background)  # its baseline, cases and calm recordings
        self.whyslow = os.environ.get("WHYSLOW") or str(self.build / "src/whyslow")
        self.programs = self.build / "lab/programs"
        self.groups = Groups()
        self.actors = []
        self.undo = {}
        self.looked = 0.0

    def __enter__(self):
        RUN.mkdir(parents=True, exist_ok=True)
        self.kept.mkdir(parents=True, exist_ok=True)
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
            self._give_swap_back(self.undo["swap"])
        if "image" in self.undo:
            run_quietly("umount", "--lazy", self.undo["image"])
        if "tracked" in self.undo:
            self._end_tracking(*self.undo["tracked"])
        if "far" in self.undo:
            run_quietly("ip", "netns", "delete", FAR)
            run_quietly("ip", "link", "delete", "whyslow-lab0")
        if "delayacct" in self.undo:
            pathlib.Path("/proc/sys/kernel/task_delayacct").write_text(self.undo["delayacct"])
        UNDO.unlink(missing_ok=True)
        self.undo = {}

    def _give_swap_back(self, path):
        run_quietly("swapoff", path)
        if path.startswith("/dev/zram"):
            pathlib.Path(f"/sys/block/{path[5:]}/reset").write_text("1")
        else:
            pathlib.Path(path).unlink(missing_ok=True)

    def _switch_on_delay_accounting(self):
        setting = pathlib.Path("/proc/sys/kernel/task_delayacct")
        if setting.exists():
            self._remember("delayacct", setting.read_text().strip())
            setting.write_text("1")

    def use_swap(self, size, compressed=False):
        """A swap file, or compressed memory where the kernel has that, until drop_swap()."""
        path = find_zram() if compressed else None
        if path:
            self._remember("swap", path)
            pathlib.Path(f"/sys/block/{path[5:]}/disksize").write_text(str(size))
        else:
            path = str(self.work / "swap")
            self._remember("swap", path)
            subprocess.run(["fallocate", "-l", str(size), path], check=True)
            os.chmod(path, 0o600)
        subprocess.run(["mkswap", path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        subprocess.run(["swapon", path], check=True)

    def drop_swap(self):
        self._give_swap_back(self.undo.pop("swap"))

    @property
    def image_folder(self):
        return self.work / "inside-image"

    def mount_image(self, path):
        """A new file system in the file, to be used at image_folder until unmount_image()."""
        subprocess.run(["mkfs.ext4", "-q", "-F", path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.image_folder.mkdir(exist_ok=True)
        self._remember("image", str(self.image_folder))
        if run_quietly("mount", "-o", "loop", path, self.image_folder) != 0:
            raise SceneBroken("files cannot be mounted here")

    def unmount_image(self):
        """Lazily: who was killed may not have ended yet."""
        run_quietly("umount", "--lazy", self.undo.pop("image"))
        UNDO.write_text(json.dumps(self.undo))

    def make_far(self):
        """A network that stands for another machine's; False where the kernel or `ip` cannot."""
        self._remember("far", True)
        commands = (f"netns add {FAR}", f"link add whyslow-lab0 type veth peer name far0 netns {FAR}",
                    f"address add {HERE_ADDRESS}/30 dev whyslow-lab0", "link set whyslow-lab0 up",
                    f"-n {FAR} address add {FAR_ADDRESS}/30 dev far0", f"-n {FAR} link set far0 up")
        return has_program("ip") and all(run_quietly("ip", *command.split()) == 0 for command in commands)

    @property
    def in_far(self):
        """The command that starts a program as if on the other machine."""
        return find_program("ip"), "netns", "exec", FAR

    def slow_line(self, how, out=False):
        """The other machine's line to here has a bound (tc's tbf: rate, burst, latency), or that from here to it; None: none. False where that cannot be."""
        device, before = ("whyslow-lab0", ()) if out else ("far0", self.in_far)
        act = ["replace", "dev", device, "root", "tbf", *how.split()] if how else ["delete", "dev", device, "root"]
        return run_quietly(*before, find_program("tc"), "qdisc", *act) == 0

    def filter_in_far(self, *rule):
        """One call of iptables on the other machine. False where that cannot be."""
        return run_quietly(*self.in_far, find_program("iptables"), *rule) == 0

    def track_connections(self, port, most):
        """The kernel notes the connections with that port, and only these, in a table of so many; until forget_connections()."""
        self._remember("tracked", [port, pathlib.Path(TABLE_SIZE).read_text().strip()])
        pathlib.Path(TABLE_SIZE).write_text(str(most))
        if not all(run_quietly(find_program("iptables"), *rule) == 0 for rule in tracking_rules("-A", port)):
            raise SceneBroken("connections cannot be tracked here")

    def forget_connections(self):
        self._end_tracking(*self.undo.pop("tracked"))
        UNDO.write_text(json.dumps(self.undo))

    @staticmethod
    def _end_tracking(port, size):
        for rule in reversed(tracking_rules("-D", port)):
            run_quietly(find_program("iptables"), *rule)
        run_quietly(find_program("conntrack"), "-F")
        pathlib.Path(TABLE_SIZE).write_text(size)

    def slow_volume(self, rate):
        """mount_image()'s folder reads and writes at most so many bytes a second, for who is started in NORMAL. False where that cannot be."""
        limit, device = self.groups.volume_limit, os.stat(self.image_folder).st_dev
        if not limit:
            return False
        for file in ("blkio.throttle.write_bps_device", "blkio.throttle.read_bps_device"):
            (limit / file).write_text(f"{os.major(device)}:{os.minor(device)} {rate}")
        return True

    def file(self, name, size):
        """A file of real blocks on the disk, made once."""
        path = self.work / name
        if not path.exists() or path.stat().st_size != size:
            write_file(path, size)
        return str(path)

    def script(self, name, text):
        """A script in a file: an interpreter is known by what it runs."""
        path = self.work / name
        path.write_text(text)
        return path

    def start(self, program, *arguments, name=None, group=NORMAL, nice=0, output=None, user=None, folder=None, before=()):
        """Starts a program: one of the lab's, under a name of its own if it is given one, or one of the system's.
        before: a command that starts it (it must exec)."""
        path = self.programs / program
        if path.exists() and name:
            path = self.named(program, name)
        target = str(path) if path.exists() else find_program(program) or program
        process = subprocess.Popen(
            [*before, target, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=output or subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, cwd=folder or self.work,
            preexec_fn=lambda: enter(self.groups.dirs[group], nice, signal.SIGKILL, user))
        try:
            exe = os.readlink(f"/proc/{process.pid}/exe")
        except FileNotFoundError:
            raise SystemExit(f"{program} ended at once (status {process.wait()})") from None
        actor = Actor(name or program, process, exe)
        self.actors.append(actor)
        return actor

    def actor(self, name):
        for actor in self.actors:
            if actor.name == name:
                return actor
        raise SceneBroken(f"{name} is not part of this background")

    def watch(self, seconds):
        """Waits, and sees meanwhile who descends from whom: many do not live long. Now and then it looks at all processes, as before a press:
        what the lab does itself must not be new then."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if time.monotonic() - self.looked > LOOKS_APART:
                self.looked = time.monotonic()
                tops.snapshot()
            children = read_children()
            for actor in self.actors:
                actor.look(children)
            time.sleep(min(0.5, max(0, left)))

    def named(self, program, name):
        """A copy of one of the lab's programs: a program is known by its executable."""
        path = self.programs / program
        copy = self.work / "bin" / name
        copy.parent.mkdir(exist_ok=True)
        if not copy.exists() or copy.read_bytes() != path.read_bytes():
            copy.write_bytes(path.read_bytes())
            copy.chmod(0o755)
        return copy

    @staticmethod
    def bind(actor, cpus):
        """The program may use these CPUs only, and so what it starts from now on."""
        for task in pathlib.Path(f"/proc/{actor.process.pid}/task").iterdir():
            os.sched_setaffinity(int(task.name), cpus)

    def make_real_time(self, actor, priority):
        self.groups.allow_real_time()
        try:
            for task in pathlib.Path(f"/proc/{actor.process.pid}/task").iterdir():
                os.sched_setscheduler(int(task.name), os.SCHED_FIFO, os.sched_param(priority))
        except PermissionError:
            raise SceneBroken("this machine lets nobody have real-time priority") from None

    def expect_alive(self, except_for=()):
        for actor in self.actors:
            if actor not in except_for and actor.process.poll() is not None:
                raise SceneBroken(f"{actor.name} ended by itself (status {actor.process.returncode}): its case would mean nothing")

    def expect_no_failure(self, actors):
        """One that is done already is fine; one that could not do its part is not."""
        for actor in actors:
            if actor.process.poll():
                raise SceneBroken(f"{actor.name} failed (status {actor.process.returncode}): its case would mean nothing")

    def stop(self, actor):
        actor.kill()
        self.actors.remove(actor)


def tracking_rules(act, port):
    """iptables': all connections but those with that port are left alone."""
    mine = [["-t", "raw", act, chain, "-p", "tcp", way, str(port), "-j", "RETURN"] for chain in ("OUTPUT", "PREROUTING") for way in ("--dport", "--sport")]
    rest = [["-t", "raw", act, chain, "-j", "CT", "--notrack"] for chain in ("OUTPUT", "PREROUTING")]
    return [*mine, *rest, [act, "INPUT", "-p", "tcp", "--dport", str(port), "-m", "conntrack", "--ctstate", "NEW"]]


def find_zram():
    """A compressed block device nobody uses, or None."""
    for sizes in sorted(pathlib.Path("/sys/block").glob("zram*/disksize")):
        if sizes.read_text().strip() == "0":
            return f"/dev/{sizes.parent.name}"
    return None


def run_quietly(*command):
    return subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def write_file(path, size):
    subprocess.run(["dd", "if=/dev/urandom", f"of={path}", "bs=1M", f"count={size >> 20}", "oflag=direct"], check=True,
                   stderr=subprocess.DEVNULL)
