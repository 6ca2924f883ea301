"""What an ordinary user does to a recorder that root runs: each attack returns (tries, what the attackers and others saw). `Attack.holds`
collects what must hold and did not; tests/torture/run looks after each whether the recorder lives and answers others."""
import ctypes
import fcntl
import glob
import json
import os
import random
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import stalling
from recorder import NOBODY, OTHER, as_user, end, lingering_socket, send_with, start_as_user, with_rights_of_unit

SECOND_USERS = range(60001, 60011)
ALL = []  # (name, what it attacks, function)


def attack(text):
    def add(function):
        ALL.append((function.__name__.replace("_", "-"), text, function))
        return function
    return add


class Attack:
    """One attack: the recorder, a folder that the attacker may write, and what failed."""

    def __init__(self, recorder, folder, tools):
        self.recorder = recorder
        self.folder = folder
        self.tools = tools
        self.failures = []

    def holds(self, fact, ok, more=""):
        if not ok:
            self.failures.append(f"{fact}: {more}" if more else fact)
        return ok


def receive_pipes(s):
    s.settimeout(10)
    return list(socket.recv_fds(s, 1, 2)[1])


# --- finding 1: who stops waiting ends the recorder ---

@attack("askers leave at any moment: their connection, one pipe or both closed, or killed")
def leave(a):
    tries = 150

    def work():
        chance = random.Random(1)
        for i in range(tries):
            try:
                s = a.recorder.connect()
                s.send(chance.choice([b"why\0", b"list\0", b"show\0", b"list\0--follow\0", b"mark\0"]))
                if i % 3 == 0:
                    pipes = receive_pipes(s)
                    os.close(pipes.pop(chance.randrange(2)))
                    time.sleep(chance.random() / 50)
                    [os.close(fd) for fd in pipes]
                elif i % 3 == 1:
                    s.shutdown(socket.SHUT_RD)
                time.sleep(chance.random() / 50)
                s.close()
            except OSError:
                time.sleep(0.05)  # refused: too many at once
        return True

    a.holds("the attacker ran", as_user(NOBODY, work))
    time.sleep(1)
    a.holds("answers end with their askers", wait_for(lambda: not a.recorder.answers(), 30))
    return tries, "the next question is answered"


def wait_for(condition, seconds):
    end_at = time.monotonic() + seconds
    while time.monotonic() < end_at:
        if condition():
            return True
        time.sleep(0.2)
    return False


@attack("askers never read their answer, and are stopped")
def stall(a):
    tries = 8

    def work():
        kept = []
        for _ in range(tries):
            s = a.recorder.connect()
            s.send(b"list\0--follow\0")
            kept.append(s)
        os.kill(os.getpid(), signal.SIGSTOP)
        return True

    pid = start_as_user(NOBODY, work)
    os.waitpid(pid, os.WUNTRACED)
    other = []
    a.holds("another user is answered meanwhile", as_user(OTHER, lambda: other.append(a.recorder.ask("list").returncode) or other[0] in (0, 1)))
    a.holds("answers that are not read end within 70 s", wait_for(lambda: not a.recorder.answers(), 70), f"{len(a.recorder.answers())} left")
    end([pid])
    return tries, "others are answered; what is not read ends after 60 s"


# --- processes that the recorder's helpers run as ---

def processes_of(recorder, *more):
    """All processes that the recorder, and more, started, and themselves."""
    found, todo = [], [recorder.process.pid, *more]
    while todo:
        pid = todo.pop()
        found.append(pid)
        for path in glob.glob(f"/proc/{pid}/task/*/children"):
            try:
                with open(path) as f:
                    todo += [int(child) for child in f.read().split()]
            except OSError:
                pass
    return found


def can_read(path):
    """Memory may be open without a byte at its beginning; of a process that is ending all else is empty for everybody."""
    try:
        with open(path, "rb") as f:
            return path.endswith("/mem") or bool(f.read(1))
    except OSError:
        return False


def can_trace(pid):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(16, pid, 0, 0) != 0:  # PTRACE_ATTACH
        return False
    libc.ptrace(17, pid, 0, 0)
    return True


def can_signal(pid, number):
    try:
        os.kill(pid, number)
        return True
    except OSError:
        return False


@attack("user `nobody`, as whom helpers open files, reads, traces and stops all processes of the recorder")
def helpers(a):
    """Helpers (whyslow-parse) and answers to others."""
    follower = start_as_user(OTHER, lambda: a.recorder.ask("list", "--follow").returncode >= 0)
    inspected = subprocess.Popen(["sleep", "30"])
    inspecting = subprocess.Popen([a.recorder.whyslow, "inspect", str(inspected.pid), "--samples", "60", "--json"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    targets = processes_of(a.recorder) + children_of(inspecting.pid)

    def work():
        got = []
        for pid in targets:
            got += [f"/proc/{pid}/{name}" for name in ("mem", "environ", "maps", "auxv") if can_read(f"/proc/{pid}/{name}")]
            got += [f"trace {pid}"] if can_trace(pid) else []
            got += [f"pidfd of {pid}"] if steal_descriptor(pid) else []
            got += [f"stop {pid}"] if can_signal(pid, signal.SIGSTOP) else []
        print(*got, file=open(a.folder + "/got", "w"))
        return not got

    a.holds("nothing of them can be read, traced, taken or stopped", as_user(NOBODY, work), read_text(a.folder + "/got"))
    try:
        inspecting.wait(40)
        a.holds("an inspection whose helper is attacked ends in time", True)
    except subprocess.TimeoutExpired:
        a.holds("an inspection whose helper is attacked ends in time", False)
    end([follower])
    inspected.kill()
    inspected.wait()
    inspecting.kill()
    inspecting.wait()
    return 4 * len(targets), "nothing"


def states_of(name):
    """Of processes whose name begins so: pid -> state."""
    found = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        text = read_text(path)
        if f" ({name}" in text:
            found[int(text.split()[0])] = text.rsplit(") ", 1)[1][0]
    return found


def held_back(pid):
    """The means by which this user can hold that process back."""
    means = {"stopped": lambda: os.kill(pid, signal.SIGSTOP), "reniced": lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
             "made idle": lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)), "moved": lambda: os.sched_setaffinity(pid, {0}),
             "limited": lambda: resource.prlimit(pid, resource.RLIMIT_CPU, (1, 1))}
    done = set()
    for name, use in means.items():
        try:
            use()
            done.add(name)
        except OSError:
            pass
    return done


@attack("user `nobody` stops, slows and limits each process that reads programs (`whyslow-parse`) as soon as it sees it")
def stopped_readers(a):
    """The recorder, and root's inspections with the unit's rights, may not end processes of other users (no CAP_KILL)."""
    def work():
        tried, done = set(), set()
        while not os.path.exists(a.folder + "/enough"):
            inspects = [int(pid) for pid in read_text(a.folder + "/inspects").split()]
            for pid in processes_of(a.recorder, *inspects):
                if pid not in tried and read_text(f"/proc/{pid}/comm") == "whyslow-parse":
                    tried.add(pid)
                    done |= {f"{pid} was {means}" for means in held_back(pid)}
            write_text(a.folder + "/tried", " ".join(str(pid) for pid in tried))
            write_text(a.folder + "/done", "; ".join(done))
        return True

    spinning = []
    for i in range(6):  # files that the recorder has not read yet
        shutil.copy("/bin/bash", f"{a.folder}/new-{i}")
        spinning.append(subprocess.Popen([f"{a.folder}/new-{i}", "-c", "while :; do :; done"], user=OTHER, group=OTHER, extra_groups=[]))
    attacker = start_as_user(NOBODY, work)
    for p in spinning[:3]:
        inspect = subprocess.Popen([*with_rights_of_unit(), a.recorder.whyslow, "inspect", str(p.pid), "--samples", "10", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        write_text(a.folder + "/inspects", str(inspect.pid))
        try:
            said = inspect.communicate(timeout=150)[0]
            a.holds("an inspection ends with an answer", inspect.returncode in (0, 1), str(inspect.returncode))
            a.holds("which has the names of its program", f"{a.folder}/new-" in said and '"function"' in said, said[:500])
        except subprocess.TimeoutExpired:
            a.holds("an inspection ends", False)
            inspect.kill()
            inspect.wait()
        a.holds("a mark is taken", a.recorder.ask("mark", "next to stopped readers").returncode == 0)
    a.holds("another user is answered", as_user(OTHER, lambda: a.recorder.ask("why").returncode in (0, 1)))
    [p.kill() or p.wait() for p in spinning]
    write_text(a.folder + "/enough", "")
    os.waitpid(attacker, 0)
    tried = read_text(a.folder + "/tried").split()
    a.holds("some were found", bool(tried))
    a.holds("none was held back", not read_text(a.folder + "/done"), read_text(a.folder + "/done"))
    a.holds("none is left", wait_for(lambda: not {int(pid) for pid in tried} & {pid for pid, state in states_of("whyslow-parse").items() if state == "T"}, 30))
    return len(tried), "nothing: answers with all names"


@attack("user `nobody` stops all processes that answer its questions, and what these start")
def stopped_answers(a):
    seconds = 20
    count = a.folder + "/stopped"

    def stop_all():
        tried, stopped = set(), set()
        stop_at = time.monotonic() + seconds
        while time.monotonic() < stop_at:
            new = [pid for pid in processes_of(a.recorder) if pid not in tried]
            tried.update(new)
            stopped.update(pid for pid in new if can_signal(pid, signal.SIGSTOP))
        write_text(count, " ".join(str(pid) for pid in stopped))
        write_text(a.folder + "/tried", str(len(tried)))

    def work():
        os.setpgrp()
        asked = [subprocess.Popen([a.recorder.whyslow, *words, "--run-dir", a.recorder.run], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                 for words in (["confirm"], ["confirm", "--mark", "1"], ["mark", "--why", "stopped"], ["why", "--at", "now"])]
        stop_all()
        [p.kill() or p.wait() for p in asked]
        return True

    as_user(NOBODY, work)
    a.holds("none could be stopped", os.path.exists(count) and not read_text(count), read_text(count))
    a.holds("none of them is left after 80 s", wait_for(lambda: not a.recorder.answers(), 80), str(a.recorder.answers()))
    return int(read_text(a.folder + "/tried") or 0), "nothing"


def children_of(pid):
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        with open(path) as f:
            found += [int(child) for child in f.read().split()]
    return found


def steal_descriptor(pid):
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(438, pidfd, 0, 0)  # pidfd_getfd
    os.close(pidfd)
    return fd >= 0


def read_text(path):
    try:
        with open(path, errors="replace") as f:
            return f.read().strip()
    except OSError:
        return ""


# --- finding 2: memory by new names ---

@attack("200 threads and 20 processes take new names all the time, with commands of 100 KB")
def names(a):
    seconds = 25
    before = a.recorder.private_mib()

    def rename():
        libc = ctypes.CDLL(None)
        stop_at = time.monotonic() + seconds

        def one(n):
            i = 0
            while time.monotonic() < stop_at:
                libc.prctl(15, f"n{n}-{i}".encode(), 0, 0, 0)
                i += 1
                time.sleep(0.01)

        threading.stack_size(65536)
        threads = [threading.Thread(target=one, args=(n,)) for n in range(200)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        return True

    def respawn():
        stop_at, i = time.monotonic() + seconds, 0
        while time.monotonic() < stop_at:
            children = [subprocess.Popen([a.tools["sleep-as"] + f"-{os.getpid()}-{i}-{k}", "0.4", "x" * 100000], executable="/bin/sleep", stderr=subprocess.DEVNULL) for k in range(10)]
            [child.wait() for child in children]
            i += 1
        return True

    pids = [start_as_user(NOBODY, rename)] + [start_as_user(NOBODY, respawn) for _ in range(2)]
    [os.waitpid(pid, 0) for pid in pids]
    time.sleep(3)
    after = a.recorder.private_mib()
    a.holds("memory stays within 40 MiB of before", after < before + 40, f"{before:.0f} MiB, {after:.0f} MiB")
    return 220, f"private memory {before:.0f} MiB before, {after:.0f} MiB after"


def sparse_elf(path, note_size=3 << 30):
    """An executable whose note claims 3 GiB, sparse; and whose sections lie beyond its end."""
    machine = 62 if os.uname().machine == "x86_64" else 183
    code = bytes.fromhex("ebfe") if machine == 62 else bytes.fromhex("00000014")
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, machine, 1, 0x401000, 64, 1 << 40, 0, 64, 56, 2, 64, 65535, 65534)
    load = struct.pack("<IIQQQQQQ", 1, 5, 4096, 0x401000, 0x401000, len(code), len(code), 4096)
    note = struct.pack("<IIQQQQQQ", 4, 4, 8192, 0, 0, note_size, note_size, 4)
    with open(path, "wb") as f:
        f.write(head + load + note)
        f.seek(4096)
        f.write(code)
        f.seek(8192)
        f.write(struct.pack("<III", 4, note_size - 32, 3) + b"GNU\0")
        f.truncate(8192 + note_size)
    os.chmod(path, 0o755)


@attack("programs whose ELF file is 3 GiB of notes, with perf maps that are FIFOs, endless or replaced while they are read")
def programs(a):
    program = a.folder + "/program"
    sparse_elf(program)
    before = a.recorder.private_mib()

    def start():
        pids = []
        for i in range(6):
            pid = os.fork()
            if pid == 0:
                os.execv(program, ["program"])
            pids.append(pid)
            lay_perf_map(i, f"/tmp/perf-{pid}.map", a.folder)
        print(*pids, file=open(a.folder + "/pids", "w"))
        time.sleep(25)
        end(pids)
        return True

    attacker = start_as_user(NOBODY, start)
    time.sleep(2)
    for _ in range(3):
        a.holds("a mark is taken", a.recorder.ask("mark", "beside hostile programs").returncode == 0)
        time.sleep(2)
    for pid in read_text(a.folder + "/pids").split()[:2]:
        done = subprocess.run([a.recorder.whyslow, "inspect", pid, "--samples", "10", "--json"], capture_output=True, timeout=100)
        a.holds("root's inspection comes", done.returncode in (0, 1), done.stderr[-200:])
    os.waitpid(attacker, 0)
    after = a.recorder.private_mib()
    a.holds("memory stays within 40 MiB of before", after < before + 40, f"{before:.0f} MiB, {after:.0f} MiB")
    for path in glob.glob("/tmp/perf-*.map"):
        if os.stat(path, follow_symlinks=False).st_uid == NOBODY:
            os.unlink(path)
    return 6, f"inspections without those names; private memory {before:.0f} MiB before, {after:.0f} MiB after"


@attack("programs that run from a file system which their user serves below an overlay, and which stops answering")
def served_files(a):
    device = a.folder + "/device"
    os.mknod(device, 0o020666, os.makedev(10, 229))  # as /dev/fuse is on a desktop
    os.chmod(device, 0o666)

    def start(number, *command):
        place = f"{a.folder}/{number}"

        def work():
            os.mkdir(place)
            server, pid = stalling.start(place, device, "/bin/bash", ["program", *command])
            write_text(place + "/pid", f"{server} {pid}")
            os.waitpid(pid, 0)
            return True

        return start_as_user(NOBODY, work)

    def pids():
        return [int(pid) for n in range(2) for pid in read_text(f"{a.folder}/{n}/pid").split()]

    attackers = [start(0, "-c", "while :; do :; done"), start(1, "-c", "while :; do read -t 2 </dev/zero; sleep 1; done; x=/tmp/program.lock")]
    try:
        if not a.holds("the programs run", wait_for(lambda: len(pids()) == 4, 10), "no user namespaces, FUSE or overlays here"):
            return 0, ""
        time.sleep(5)
        asked = [["mark", "next to them"], ["why"], ["why", str(pids()[1])], ["why", str(pids()[3])], ["waits", str(pids()[1])], ["threads", str(pids()[3]), "--json"],
                 ["inspect", str(pids()[1]), "--samples", "10"], ["calm", str(pids()[1]), "--by", "class"], ["calm", "--undo"], ["export", "--format", "trace", "--output", a.folder + "/all.trace"]]
        for words in asked:
            run = [] if words[0] == "inspect" else ["--run-dir", a.recorder.run]
            process = subprocess.Popen([a.recorder.whyslow, *words, *run], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            a.holds(f"'{words[0]}' ends", wait_for(lambda: process.poll() is not None, 40))
            a.holds(f"'{words[0]}' answers", process.poll() in (0, 1), str(process.poll()))
        a.holds("no thread of the recorder waits for them", not waiting_for_fuse(a.recorder), str(waiting_for_fuse(a.recorder)))
    finally:
        for pid in pids() + attackers:
            can_signal(pid, signal.SIGKILL)
        for pid in attackers:
            os.waitpid(pid, 0)
    return len(asked), "answers without names from these files"


def write_text(path, text):
    with open(path + ".new", "w") as f:
        f.write(text)
    os.rename(path + ".new", path)


def waiting_for_fuse(recorder):
    return [path for pid in processes_of(recorder) for path in glob.glob(f"/proc/{pid}/task/*/wchan") if "request_wait_answer" in read_text(path)]


def lay_perf_map(i, path, folder):
    """As the process's own user."""
    if i % 3 == 0:
        os.mkfifo(path)
    elif i % 3 == 1:
        with open(path, "wb") as f:
            f.truncate(10 << 30)
    else:
        os.symlink("/dev/zero", path)


# --- findings 4 and 5: descriptors ---

@attack("messages bring sockets within sockets, which hold sockets that linger when they are closed")
def nested(a):
    before = a.recorder.descriptors()
    kept = []

    def work():
        for i in range(4):
            server, client = lingering_socket()
            kept.append(server)
            for path in ("ring", "socket"):
                inner = socket.socketpair()
                send_with(inner[0], b"x", [client.fileno()])
                outer = socket.socketpair()
                send_with(outer[0], b"x", [inner[1].fileno(), inner[0].fileno()])
                s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) if path == "ring" else a.recorder.connect()
                send_with(s, b"\1" * 128 if path == "ring" else b"list\0", [outer[1].fileno(), outer[0].fileno()], a.recorder.run + "/ring" if path == "ring" else None)
                [x.close() for x in (*inner, *outer, s)]
            client.close()
        time.sleep(15)
        return True

    pid = start_as_user(NOBODY, work)
    time.sleep(1)
    began = time.monotonic()
    a.holds("a mark is taken meanwhile", a.recorder.ask("mark", "nested sockets").returncode == 0)
    took = time.monotonic() - began
    a.holds("in less than 5 s", took < 5, f"{took:.1f} s")
    end([pid])  # it closes sockets that linger, too
    a.holds("no descriptor stays", wait_for(lambda: a.recorder.descriptors() <= before + 4, 20), f"{before}, {a.recorder.descriptors()}")
    return 8, f"a mark at the same time took {took:.1f} s"


# --- findings 6 and 7: what others may not see ---

NEEDLES = ["needleword", "needlefolder", "needlemapped", "needlethread", "needlemarker"]


@attack("all questions and formats, searched for another user's command line, paths, thread names, mapped files and markers")
def needles(a):
    home = a.folder + "/needlefolder"
    os.mkdir(home, 0o700)
    for name in ("worker", "needlemapped"):
        shutil.copy("/bin/bash" if name == "worker" else "/bin/true", f"{home}/{name}")
        os.chown(f"{home}/{name}", OTHER, OTHER)
    os.chown(home, OTHER, OTHER)
    victim = subprocess.Popen([home + "/worker", "-c", "exec 3<" + home + "/needlemapped; while :; do :; done", "needleword"], user=OTHER, group=OTHER, extra_groups=[])
    marker = start_as_user(OTHER, lambda: send_marker(a.recorder, "needlemarker"))
    os.waitpid(marker, 0)
    time.sleep(4)
    root = a.recorder.ask("export", "--format", "trace", "--output", a.folder + "/all.trace")
    a.holds("root finds the marker", root.returncode == 0 and "needlemarker" in all_of(a, "all.trace"))
    a.holds("root finds the command line", "needleword" in a.recorder.ask("why", str(victim.pid), "--json").stdout + a.recorder.ask("show", "--json").stdout)
    a.recorder.ask("mark", "a moment", user=NOBODY, group=NOBODY, extra_groups=[])
    questions = ["why", "why --json", "why worker", f"why {victim.pid}", "list --json", "show", "show --json", "show 1 --json", "waits --json", f"waits {victim.pid}",
                 f"threads {victim.pid} --json", "cpu --for 200ms", "cpu --for 200ms --json", "top --json", "mark --why again", "compare -10s now", "inspect " + str(victim.pid),
                 "show --lives", "list --by-program --json", "why --facts", f"confirm {victim.pid}", f"calm {victim.pid}", "doctor", "report"]
    found = []
    for words in questions:
        try:
            done = a.recorder.ask(*words.split(), user=NOBODY, group=NOBODY, extra_groups=[], stdin=subprocess.DEVNULL, cwd="/", timeout=40)
        except subprocess.TimeoutExpired:
            continue
        found += [f"{needle} in '{words}'" for needle in NEEDLES if needle in done.stdout + done.stderr]
    # a user's `waits`, `threads` and `export` read these
    for name, words in (("mine.trace", "export --format trace"), ("marked.trace", "export --format trace --mark 1")):
        whole = a.recorder.ask_as(NOBODY, words, f"{a.folder}/{name}")
        text = read_bytes(f"{a.folder}/{name}")
        a.holds(f"the user gets {name}", whole and len(text) > 1000, str(len(text)))
        text += all_of(a, name)
        found += [f"{needle} in {name}" for needle in NEEDLES if needle in text]
    victim.kill()
    victim.wait()
    a.holds("nothing of another user is found", not found, "; ".join(found))
    return len(questions) + 2, "names and sums of a second"


def read_bytes(path):
    with open(path, "rb") as f:
        return f.read().decode(errors="replace")


def all_of(a, name):
    """The file is compressed: what is in it, in three forms."""
    text = subprocess.run([a.tools["events"], f"{a.folder}/{name}"], capture_output=True, text=True, errors="replace").stdout
    for words in ("export --format perfetto", "export --format folded --waits", "threads --json"):
        out = f"{a.folder}/{name}.all"
        with open(out, "wb") as f:
            subprocess.run([a.recorder.whyslow, *words.split(), "--from", f"{a.folder}/{name}"], stdout=f, stderr=subprocess.DEVNULL)
        text += read_bytes(out)
    return text


@attack("a program with the set-user-ID bit of root, started by the user, searched for in that user's events, stacks and profile")
def set_user_id(a):
    """The kernel shows neither its addresses (/proc/PID/maps) nor its moments (perf_event_open) to the user who started it."""
    program = a.folder + "/needleroot"
    shutil.copy("/bin/bash", program)
    os.chown(program, 0, 0)
    os.chmod(program, 0o4755)
    shutil.copy("/bin/bash", a.folder + "/ownspin")
    spin = "i=0; while :; do i=$((i+1)); [ $((i % 2000)) = 0 ] && read -t 0.01 x; done"
    user = dict(user=NOBODY, group=NOBODY, extra_groups=[], stdin=subprocess.DEVNULL)
    started = [subprocess.Popen([program, "-p", "-c", spin], **user), subprocess.Popen([a.folder + "/ownspin", "-c", spin], **user)]
    try:
        time.sleep(3)
        if open(f"/proc/{started[0].pid}/status").read().split("Uid:\t")[1].split()[:3] != [str(NOBODY), "0", "0"]:
            a.holds("the program got root's rights", False, "a file system without set-user-ID bits")
            return 0, ""
        mark = json.loads(a.recorder.ask("mark", "both run", "--json", **user).stdout)["id"]
        time.sleep(7)
        for name, words in (("uid.trace", "export --format trace"), ("marked.trace", f"export --format trace --mark {mark}")):
            a.holds(f"the user gets {name}", a.recorder.ask_as(NOBODY, words, f"{a.folder}/{name}"))
            hidden = subprocess.run([a.tools["events"], f"{a.folder}/{name}", "--strangers"], capture_output=True, text=True, errors="replace").stdout.split("\n")
            a.holds(f"its moments are those of a stranger in {name}", "needleroot" in hidden)
            a.holds(f"the user's own program is exact in {name}", "ownspin" not in hidden)
    finally:
        for p in started:
            p.kill()
            p.wait()
    return 2, "sums of a second, as of another user's program"


def marker_bytes(text):
    return struct.pack("<IIqQII96s", 1, 0, 0, time.monotonic_ns(), threading.get_native_id(), len(text), text.encode())


def send_marker(recorder, text):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.sendto(marker_bytes(text), recorder.run + "/ring")
    return True


# --- finding 10: bounds ---

@attack("ten users hold all the connections that they get")
def many_users(a):
    kept = []

    def hold(uid):
        def work():
            for _ in range(20):
                try:
                    s = a.recorder.connect()
                    s.send(b"list\0--follow\0")
                    kept.append(s)
                except OSError:
                    pass
            time.sleep(10)
            return True
        return start_as_user(uid, work)

    pids = [hold(uid) for uid in SECOND_USERS]
    time.sleep(2)
    other = as_user(OTHER, lambda: a.recorder.ask("list").returncode in (0, 1))
    began = time.monotonic()
    root = a.recorder.ask("list")
    took = time.monotonic() - began
    a.holds("root is answered", root.returncode in (0, 1), root.stderr)
    a.holds("root is answered in 5 s", took < 5, f"{took:.1f} s")
    a.holds("another user is answered", other)
    [os.waitpid(pid, 0) for pid in pids]
    a.holds("all are answered afterwards", wait_for(lambda: as_user(OTHER, lambda: a.recorder.ask("list").returncode in (0, 1)), 70))
    return 200, f"root is answered in {took:.1f} s; another user is, too: the oldest question of those who have most ends for it"


SUBORDINATE = range(100000, 100060)


@attack("one person holds a connection with each of 60 subordinate user ids, each once more when it is ended")
def subordinate_users(a):
    def hold():
        stop_at = time.monotonic() + 12
        while time.monotonic() < stop_at:
            try:
                s = a.recorder.connect()
                s.send(b"list\0--follow\0")
                s.settimeout(12)
                while s.recv(4096):
                    pass
            except OSError:
                pass
            time.sleep(0.2)
        return True

    pids = [start_as_user(uid, hold) for uid in SUBORDINATE]
    time.sleep(2)
    answered, tries = 0, 20
    for _ in range(tries):
        answered += as_user(OTHER, lambda: a.recorder.ask("list").returncode in (0, 1))
        time.sleep(0.2)
    root = a.recorder.ask("list")
    a.holds("root is answered", root.returncode in (0, 1), root.stderr)
    a.holds("another user is answered, 19 of 20 times", answered >= tries - 1, str(answered))
    [os.waitpid(pid, 0) for pid in pids]
    return len(SUBORDINATE) + tries, f"another user was answered {answered} of {tries} times"


@attack("4 processes send markers as fast as they can")
def markers(a):
    seconds = 8

    def work():
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        stop_at, n = time.monotonic() + seconds, 0
        while time.monotonic() < stop_at:
            try:
                s.sendto(os.urandom(96) if n % 4 == 0 else marker_bytes("flood"), socket.MSG_DONTWAIT, a.recorder.run + "/ring")
                n += 1
            except OSError:
                pass
        with open(f"{a.folder}/sent-{os.getpid()}", "w") as f:
            f.write(str(n))
        return True

    as_user(OTHER, lambda: send_marker(a.recorder, "the one of another user"))
    cpu, before, began = a.recorder.cpu_seconds(), a.recorder.private_mib(), time.monotonic()
    pids = [start_as_user(NOBODY, work) for _ in range(4)]
    mark = a.recorder.ask("mark", "beside markers")
    a.holds("a mark is taken meanwhile", mark.returncode == 0, mark.stderr)
    [os.waitpid(pid, 0) for pid in pids]
    spent = (a.recorder.cpu_seconds() - cpu) / (time.monotonic() - began)
    a.recorder.ask("export", "--format", "trace", "--output", a.folder + "/all.trace")
    text = subprocess.run([a.tools["events"], a.folder + "/all.trace"], capture_output=True, text=True, errors="replace").stdout
    a.holds("another user's marker is still there", "the one of another user" in text)
    a.holds("memory is given back", wait_for(lambda: a.recorder.private_mib() < before + 10, 20), f"{before:.0f}, {a.recorder.private_mib():.0f}")
    sent = sum(int(read_text(path) or 0) for path in glob.glob(a.folder + "/sent-*"))
    return sent, f"the recorder took {100 * spent:.0f} % of one CPU during it"


@attack("marks without end, with long notes, notes of control characters and feedback")
def marks(a):
    tries = 60
    size = os.path.getsize(a.recorder.store)

    def work():
        chance = random.Random(2)
        for i in range(tries):
            note = bytes(chance.randrange(1, 256) for _ in range(chance.choice([1, 300, 900]))).decode("latin-1")
            subprocess.run([a.recorder.whyslow, "mark", "--run-dir", a.recorder.run, note], capture_output=True, timeout=60)
            subprocess.run([a.recorder.whyslow, "feedback", "--run-dir", a.recorder.run, str(chance.randrange(-5, 50)), chance.choice(["right", "wrong", "\x1b[2J"])], capture_output=True, timeout=60)
        return True

    a.holds("the attacker ran", as_user(NOBODY, work))
    listed = a.recorder.ask("list")
    raw = [c for c in listed.stdout if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160]
    a.holds("no control character reaches root's terminal", not raw, repr(raw[:5]))
    began = time.monotonic()
    a.holds("root's why comes", a.recorder.ask("why").returncode in (0, 1))
    return 2 * tries, f"root's why took {time.monotonic() - began:.1f} s; the store grew by {(os.path.getsize(a.recorder.store) - size) / 1024:.0f} KiB"


@attack("ten users mark 20 times each, next to a mark of root's whose events are kept")
def marks_of_many(a):
    root = json.loads(a.recorder.ask("mark", "the one of root", "--json").stdout)["id"]
    trace = f"{os.path.splitext(a.recorder.store)[0]}.traces/{root}.trace"
    a.holds("root's events are kept", wait_for(lambda: os.path.exists(trace), 15), trace)

    def work():
        for i in range(20):
            a.recorder.ask("mark", f"{os.getuid()} {i} " + "x" * 900)
            time.sleep(0.1)
        return True

    pids = [start_as_user(uid, work) for uid in SECOND_USERS]
    [os.waitpid(pid, 0) for pid in pids]
    time.sleep(7)  # the last one's events
    began = time.monotonic()
    shown = a.recorder.ask("show", str(root))
    took = time.monotonic() - began
    a.holds("root's mark is answered", shown.returncode in (0, 1), shown.stderr)
    a.holds("in 5 s", took < 5, f"{took:.1f} s")
    a.holds("root's mark is listed", "the one of root" in a.recorder.ask("list").stdout)
    a.holds("its events are still kept", os.path.exists(trace))
    return 200, f"root's answer about the mark took {took:.1f} s"


@attack("questions of random words, options and bytes")
def words(a):
    tries = 250
    texts = ["why", "list", "show", "mark", "feedback", "calm", "confirm", "cpu", "waits", "threads", "export", "top", "inspect", "config", "doctor", "run", "record", "serve", "fleet", "open",
             "--json", "--from", "--store", "--config", "--run-dir", "--output", "--at", "--since", "-1h", "now", "1", "-1", "9" * 30, "/etc/shadow", "../../etc/shadow", "--format", "trace", "--follow",
             "--captures", "--alike", "--help", "--user", "--", "TZ=/etc/shadow", "TZ=" + "A" * 60, "COLOR=1", "\x1b[2J", "%s%n", "a" * 3000, "", "\udcff", "--points", "1000000000"]

    def work():
        chance = random.Random(3)
        for _ in range(tries):
            try:
                s = a.recorder.connect()
                s.settimeout(2)
                if chance.random() < 0.2:
                    s.send(chance.randbytes(chance.randrange(1, 4000)))
                else:
                    s.send(b"".join(chance.choice(texts).encode(errors="surrogateescape") + b"\0" for _ in range(chance.randrange(1, 9))))
                pipes = receive_pipes(s)
                s.settimeout(2)
                s.recv(1)
            except OSError:
                pipes = []
            [os.close(fd) for fd in pipes]
            s.close()
        return True

    before = set(glob.glob("/etc/whyslow*/**", recursive=True)) | set(os.listdir("/")) | set(os.listdir(os.path.dirname(a.recorder.store)))
    a.holds("the attacker ran", as_user(NOBODY, work))
    after = set(glob.glob("/etc/whyslow*/**", recursive=True)) | set(os.listdir("/")) | set(os.listdir(os.path.dirname(a.recorder.store)))
    new = {name for name in after - before if not name.startswith("r.db")}
    a.holds("no file comes of it", not new, str(new))
    return tries, "errors in words"


# --- findings 3 and 11: files ---

@attack("a recording lies next to links to a victim's files, where SQLite has its journal, log and index")
def links(a):
    done = a.recorder.ask("export", "--format", "store", "--output", a.folder + "/given.db", "--store", a.recorder.store)
    if not a.holds("a recording to give away", done.returncode == 0, done.stderr):
        return 0, ""
    os.chmod(a.folder + "/given.db", 0o644)
    victim = a.folder + "/victim"
    tries = 0
    for ending in ("-journal", "-wal", "-shm", ".reserve", ".new", "-mj00000000"):
        for text in ("", "dear"):
            with open(victim, "w") as f:
                f.write(text)
            os.chown(victim, OTHER, OTHER)
            os.symlink(victim, a.folder + "/given.db" + ending)
            for question in ("list", "why", "show", f"export --format csv --output {a.folder}/out-{tries}.csv"):
                a.recorder.ask(*question.split(), "--from", a.folder + "/given.db")
                tries += 1
            a.holds(f"a victim behind {ending} stays", os.path.exists(victim) and read_text(victim) == text)
            os.unlink(a.folder + "/given.db" + ending)
    return tries, "the answer, or that the file is not complete"


@attack("a recording, a trace and a recording's events that their owner cuts, fills with random bytes, and replaces by links and FIFOs while root reads them")
def changing_files(a):
    given = {}
    for name, words in (("given.db", "export --format store"), ("given.trace", "export --format trace")):
        done = a.recorder.ask(*words.split(), "--output", f"{a.folder}/{name}", "--store", a.recorder.store)
        if not a.holds(f"a {name} to give away", done.returncode == 0, done.stderr):
            return 0, ""
        with open(f"{a.folder}/{name}", "rb") as f:
            given[name] = f.read()
        os.unlink(f"{a.folder}/{name}")
    seconds = 40

    def change(name):
        chance, path, whole = random.Random(name), f"{a.folder}/{name}", given[name]
        stop_at = time.monotonic() + seconds
        while time.monotonic() < stop_at:
            with open(path + ".new", "wb") as f:
                f.write(whole)
            os.rename(path + ".new", path)
            time.sleep(chance.random() / 20)
            with open(path, "r+b") as f:
                way = chance.randrange(4)
                if way == 0:
                    os.truncate(path, chance.choice([0, 1, 4096, len(whole) // 2]))
                elif way == 1:
                    for _ in range(20):
                        f.seek(chance.randrange(len(whole)))
                        f.write(chance.randbytes(64))
                else:
                    os.unlink(path)
                    os.mkfifo(path) if way == 2 else os.symlink(chance.choice(["/dev/zero", "/proc/kmsg", path, "/etc/shadow"]), path)
            time.sleep(chance.random() / 20)
            os.unlink(path)
        return True

    pids = [start_as_user(NOBODY, lambda name=name: change(name)) for name in given]
    stop_at, tries, statuses, slow, leaked = time.monotonic() + seconds - 5, 0, {}, [], []
    secret = [line.split(":")[1] for line in read_text("/etc/shadow").split("\n") if len(line.split(":")) > 1 and len(line.split(":")[1]) > 3]
    questions = ["why --at -1min", "list", "show", f"export --format csv --output {a.folder}/out.csv", "history", "threads --json", "waits", f"export --format perfetto --output {a.folder}/out.perfetto"]
    while time.monotonic() < stop_at:
        words = questions[tries % len(questions)]
        file = "given.trace" if words.split()[0] in ("threads", "waits") or "perfetto" in words else "given.db"
        began = time.monotonic()
        try:
            done = a.recorder.ask_file(*words.split(), "--from", f"{a.folder}/{file}")
            statuses[done.returncode] = statuses.get(done.returncode, 0) + 1
            leaked += [words for s in secret if s in done.stdout + done.stderr]
        except subprocess.TimeoutExpired:
            slow.append(words)
        slow += [words] if time.monotonic() - began > 20 else []
        tries += 1
    [os.waitpid(pid, 0) for pid in pids]
    a.holds("each question ends with an answer or a message", set(statuses) <= {0, 1, 3}, str(statuses))
    a.holds("in 20 s", not slow, str(slow[:3]))
    a.holds("no other file is printed", not leaked, str(leaked[:3]))
    a.holds("some are answered, and some are not", {0, 3} <= set(statuses) or {1, 3} <= set(statuses), str(statuses))
    return tries, f"{statuses.get(0, 0) + statuses.get(1, 0)} answers, {statuses.get(3, 0)} times what is wrong with the file"


@attack("a run directory in a folder that all may write, made before by the attacker: a folder, a link, links in it")
def run_dir(a):
    tries = 0
    for kind in ("folder", "link", "links"):
        place = f"/dev/shm/whyslow-torture-{os.getpid()}"
        victim = a.folder + "/precious"
        with open(victim, "w") as f:
            f.write("dear")

        def lay():
            if kind == "link":
                os.symlink(a.folder, place)
            else:
                os.mkdir(place)
                os.chmod(place, 0o777)
            if kind == "links":
                for name in ("socket", "marks.db", "journal", "ring-maps", "ended", "held", "ring", "press", "lock"):
                    os.symlink(victim, f"{place}/{name}")
            return True

        as_user(NOBODY, lay)
        recorder = subprocess.Popen([a.recorder.whyslow, "record", "--run-dir", place, "--store", a.folder + "/two.db"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            _, said = recorder.communicate(timeout=8)
        except subprocess.TimeoutExpired:
            recorder.terminate()
            _, said = recorder.communicate()
            a.holds(f"a recorder does not use the attacker's {kind}", False)
        a.holds("it says why", recorder.returncode != 0 and place in said, said[-200:])
        a.holds("the victim stays", read_text(victim) == "dear")
        os.unlink(place) if os.path.islink(place) else shutil.rmtree(place)
        tries += 1
    return tries, "the recorder refuses the folder and says whose it is"


@attack("connections as fast as 4 processes make them, some with half a question, bytes out of band or a million words")
def flood(a):
    seconds = 8

    def work():
        stop_at, n = time.monotonic() + seconds, 0
        while time.monotonic() < stop_at:
            try:
                s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
                s.connect(a.recorder.run + "/socket")
                if n % 4:
                    s.send([b"", b"why", b"\0" * 4096][n % 4 - 1])
                s.close()
                n += 1
            except OSError:
                s.close()
        with open(f"{a.folder}/sent-{os.getpid()}", "w") as f:
            f.write(str(n))
        return True

    took = {}

    def ask_as(uid):
        began = time.monotonic()
        ok = as_user(uid, lambda: a.recorder.ask("list").returncode in (0, 1))
        took[uid] = time.monotonic() - began
        return ok

    pids = [start_as_user(NOBODY, work) for _ in range(4)]
    time.sleep(1)
    a.holds("root is answered", ask_as(0))
    a.holds("another user is answered", ask_as(OTHER))
    a.holds("both in 5 s", max(took.values()) < 5, str(took))
    [os.waitpid(pid, 0) for pid in pids]
    sent = sum(int(read_text(path) or 0) for path in glob.glob(a.folder + "/sent-*"))
    return sent, f"root's question took {took[0]:.1f} s, another user's {took[OTHER]:.1f} s"


# --- names ---

HOSTILE_NAMES = [b"a\nb", b"\x1b[2J\x1b]0;x\x07", b"\xff\xfe\x80", "\u202etxt.exe".encode(), b"<img src=x>", b"%s%n%n", b"\";'$(id)`", b"=1+1", b"a,b\"c", b"..", b"\\n\\t"]


@attack("threads, programs, folders and arguments whose names hold newlines, escapes, markup, broken UTF-8 and what reverses a line")
def hostile_names(a):
    def start():
        libc = ctypes.CDLL(None)
        pids = []
        for i, name in enumerate(HOSTILE_NAMES):
            program = a.folder.encode() + b"/" + (name if name != b".." else b"...")
            shutil.copy("/bin/sleep", program)
            pid = os.fork()
            if pid == 0:
                libc.prctl(15, name, 0, 0, 0)
                if i % 2:
                    os.execv(program, [name, b"30", name] if i % 4 == 1 else [name, b"30"])
                while True:
                    pass
            pids.append(pid)
        time.sleep(12)
        end(pids)
        return True

    attacker = start_as_user(NOBODY, start)
    time.sleep(4)
    bad = []
    tries = 0
    questions = ["why", "show", "list", "waits", "cpu --for 200ms", "show --lives", f"export --format csv --output {a.folder}/names.csv --store {a.recorder.store}"]
    a.recorder.ask("mark", "hostile \x1b[2J names \u202e")
    for words in questions:
        for json_too in (["--json"], []):
            if json_too and words.startswith("export"):
                continue
            done = subprocess.run([a.recorder.whyslow, *words.split(), *json_too, "--run-dir", a.recorder.run], capture_output=True, timeout=100)
            tries += 1
            bad += unprintable(f"{words} {''.join(json_too)}", done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace"))
            if json_too and done.stdout:
                bad += not_json(words, done.stdout)
    os.waitpid(attacker, 0)
    with open(a.folder + "/names.csv", "rb") as f:
        bad += unprintable("csv", f.read().decode(errors="replace"))
    a.holds("all that is printed can be read, and all JSON is valid", not bad, "; ".join(bad[:5]))
    return len(HOSTILE_NAMES) * tries, "the names with question marks"


SCRIPTS = [b"<img src=x onerror=document.title='run'>", b"</script><script>document.title='run'</script>", b"\"><svg onload=document.title='run'>",
           b"';document.title='run';//", b"</title></style></textarea><img src=x onerror=document.title='run'>", b"javascript:document.title='run'",
           b"{{constructor.constructor('document.title=1')()}}", b"\\u003cimg src=x onerror=document.title='run'>"]


def title_in_browser(path):
    done = subprocess.run([shutil.which("chromium"), "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=4000", "--dump-dom", "file://" + path],
                          capture_output=True, text=True, errors="replace", timeout=100, stdin=subprocess.DEVNULL)
    return re.search(r"<title>(.*?)</title>", done.stdout, re.S), done.stdout


@attack("names, arguments, folders and notes that are scripts, in exported pages that a browser opens")
def page_names(a):
    if not shutil.which("chromium"):
        return 0, "not tried: there is no chromium"
    control = a.folder + "/control.html"
    with open(control, "wb") as f:
        f.write(b"<title>whyslow</title><body>" + b"".join(SCRIPTS[:3]))
    found, _ = title_in_browser(control)
    a.holds("the browser runs what is a script", found and found[1] == "run", str(found))

    def start():
        libc = ctypes.CDLL(None)
        pids = []
        for script in SCRIPTS:
            program = a.folder.encode() + b"/" + script.replace(b"/", b"")
            shutil.copy("/bin/bash", program)
            pid = os.fork()
            if pid == 0:
                libc.prctl(15, script, 0, 0, 0)
                os.execv(program, [script, b"-c", b"while :; do :; done", script])
            pids.append(pid)
        time.sleep(14)
        end(pids)
        return True

    attacker = start_as_user(NOBODY, start)
    time.sleep(8)
    opened = 0
    for n, note in enumerate((b" ".join(SCRIPTS[:4]), b" ".join(SCRIPTS[4:]))):
        page = f"{a.folder}/page-{n}.html"
        a.recorder.ask("mark", "--", note.decode())
        number = json.loads(a.recorder.ask("list", "--json").stdout)["marks"][-1]["id"]
        done = subprocess.run([a.recorder.whyslow, "export", str(number), "--format", "html", "--output", page, "--run-dir", a.recorder.run, "--store", a.recorder.store], capture_output=True,
                              text=True, errors="replace", timeout=100)
        if not a.holds("the page is made", done.returncode == 0 and os.path.exists(page), done.stderr[-200:]):
            continue
        found, dom = title_in_browser(page)
        a.holds("nothing of it is run", found is not None and found[1] != "run" and "src=\"x\"" not in dom and "<svg onload" not in dom, f"{note}: {found and found[1]}")
        a.holds("the names are in the page", "document.title" in dom, note.decode())
        opened += 1
    os.waitpid(attacker, 0)
    return len(SCRIPTS), f"{opened} pages show the scripts as text"


@attack("programs that wait: for locks on files with hostile names, for a debugger that their name makes up, with 60,000 copies of what they poll; root asks for whom")
def waits_of_others(a):
    def lock(path):
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX)
        return True

    def sleep_as(name, work):
        def run():
            ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
            work()
            while True:
                time.sleep(1)

        return start_as_user(NOBODY, run)

    def be_stopped():
        ctypes.CDLL(None).ptrace(0, 0, None, None)  # PTRACE_TRACEME: by this test
        os.kill(os.getpid(), signal.SIGSTOP)

    def poll_copies():
        resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
        read, _ = os.pipe()
        copies = [os.dup(read) for _ in range(15000)]
        if os.fork() and os.fork():
            os.fork()
        poll = select.poll()
        for fd in copies[:32]:
            poll.register(fd, select.POLLIN)
        poll.poll()

    def wait_for_lock(path):
        time.sleep(1)
        lock(path)

    paths = [a.folder.encode() + b"/" + name + b".lock" for name in HOSTILE_NAMES]
    pids = [sleep_as(name, lambda path=path, work=work: work(path)) for name, path in zip(HOSTILE_NAMES, paths) for work in (lock, wait_for_lock)]
    pids += [sleep_as(f"TracerPid:\t{a.recorder.process.pid}".encode(), be_stopped), sleep_as(b"polls", poll_copies)]
    time.sleep(3)
    bad, took = [], []
    for words in [["why", str(pid)] for pid in pids] + [["why"]]:
        for json_too in (["--json"], []):
            began = time.monotonic()
            done = subprocess.run([a.recorder.whyslow, *words, *json_too, "--run-dir", a.recorder.run], capture_output=True, timeout=100)
            took.append(time.monotonic() - began)
            bad += unprintable(" ".join(words), done.stdout.decode(errors="replace")) + ([f"{words} is not answered"] if done.returncode not in (0, 1) else [])
            bad += not_json(" ".join(words), done.stdout) if json_too else []
            if f"(pid {a.recorder.process.pid})" in done.stdout.decode(errors="replace"):
                bad.append("a name makes up a debugger")
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    for path in glob.glob("/proc/[0-9]*/comm"):  # the copies' other processes
        if read_text(path) == "polls\n":
            os.kill(int(path.split("/")[2]), signal.SIGKILL)
    a.holds("all that is printed can be read, is true, and all JSON is valid", not bad, "; ".join(bad[:5]))
    a.holds("each in 20 s", max(took) < 20, f"{max(took):.1f} s")
    return len(took), f"answers with question marks, after {max(took):.1f} s at most"


def unprintable(what, text):
    found = {c for c in text if (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160 or 0x202a <= ord(c) <= 0x202e or 0x2066 <= ord(c) <= 0x2069 or c == "\ufffd"}
    return [f"{what}: {found}"] if found else []


def not_json(what, text):
    try:
        json.loads(text)
        return []
    except ValueError as error:
        return [f"{what}: {error}"]


# --- holding back ---

@attack("`calm` and `confirm` of processes of others, of the recorder and its helpers, of the kernel, and of one's own without end")
def holds(a):
    victim = subprocess.Popen(["sleep", "60"], user=OTHER, group=OTHER, extra_groups=[])
    targets = [1, 2, victim.pid, *processes_of(a.recorder)]

    def work():
        for pid in targets:
            for words in (["calm", str(pid)], ["calm", str(pid), "--force", "--by", "class"], ["confirm", str(pid), "--force"], ["calm", "--undo", str(pid)]):
                if subprocess.run([a.recorder.whyslow, *words, "--run-dir", a.recorder.run], capture_output=True, timeout=60).returncode == 0:
                    return False
        own = [subprocess.Popen(["sleep", "600"]) for _ in range(80)]  # of one that ends the hold ends
        held = [subprocess.run([a.recorder.whyslow, "calm", str(p.pid), "--by", "class", "--run-dir", a.recorder.run], capture_output=True, timeout=60).returncode for p in own]
        listed = json.loads(subprocess.run([a.recorder.whyslow, "calm", "--json", "--run-dir", a.recorder.run], capture_output=True, timeout=60).stdout)["held"]
        with open(a.folder + "/held", "w") as f:
            json.dump({"said": [p.pid for p, status in zip(own, held) if status == 0], "listed": [pid for h in listed for pid in h["pids"]]}, f)
        released = subprocess.run([a.recorder.whyslow, "calm", "--undo", "--run-dir", a.recorder.run], capture_output=True, timeout=60).returncode
        [p.kill() for p in own]
        return released == 0

    a.holds("others' processes are not held, one's own are released", as_user(NOBODY, work))
    held = json.loads(read_text(a.folder + "/held") or '{"said": [], "listed": []}')
    a.holds("the number of held programs is bounded", 0 < len(held["listed"]) <= 64, str(len(held["listed"])))
    a.holds("each of which that was said is held", set(held["said"]) == set(held["listed"]), str(set(held["said"]) ^ set(held["listed"])))
    a.holds("nothing stays in RUN/held", not [n for n in os.listdir(a.recorder.run + "/held") if not n.startswith(".")])
    a.holds("the victim's class is as before", os.sched_getscheduler(victim.pid) == os.SCHED_OTHER)
    victim.kill()
    victim.wait()
    return 4 * len(targets) + 80, f"refused with the reason; {len(held['said'])} of 80 programs of one's own held at once, then a limit"


@attack("three users and root test processes at the same time, and a fourth user stops in the middle of a test")
def confirms(a):
    stopped = subprocess.Popen(["sleep", "120"], user=60009, group=60009, extra_groups=[])
    asker = subprocess.Popen([a.recorder.whyslow, "confirm", str(stopped.pid), "--force", "--by", "class", "--run-dir", a.recorder.run], user=60009, group=60009, extra_groups=[],
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(4)
    asker.send_signal(signal.SIGSTOP)
    tests = []
    for uid in (NOBODY, OTHER, 60001, 0):
        user = dict(user=uid, group=uid, extra_groups=[], stdin=subprocess.DEVNULL)
        spin = subprocess.Popen(["sh", "-c", "while :; do :; done"], **user)
        tests.append((uid, spin, subprocess.Popen([a.recorder.whyslow, "confirm", str(spin.pid), "--force", "--by", "class", "--json", "--run-dir", a.recorder.run], stdout=subprocess.PIPE,
                                                  stderr=subprocess.PIPE, text=True, **user)))
    for uid, spin, test in tests:
        try:
            out, err = test.communicate(timeout=58)
        except subprocess.TimeoutExpired:
            test.kill()
            out, err = test.communicate()
        a.holds(f"the test of user {uid} is done", test.returncode in (0, 1) and '"verdict"' in out, err[-200:])
        spin.kill()
        spin.wait()
    for p in (asker, stopped):
        p.send_signal(signal.SIGCONT)
        p.kill()
        p.wait()
    a.holds("nothing stays in RUN/held", wait_for(lambda: not [n for n in os.listdir(a.recorder.run + "/held") if not n.startswith(".")], 20))
    return len(tests) + 1, "each gets a verdict"


@attack("the same questions where /proc hides other users' processes (hidepid), for names and numbers of those")
def hidden(a):
    """The option is one of the /proc that all see, as it is for the recorder: it is taken back at the end."""
    home = a.folder + "/hidden"
    os.mkdir(home)
    os.chmod(home, 0o755)
    script = os.path.dirname(os.path.abspath(__file__)) + "/hidden.py"
    before = re.search(r"hidepid=(\w+)", next(line for line in reversed(read_text("/proc/1/mounts").splitlines()) if line.split()[1:3] == ["/proc", "proc"]))
    subprocess.run(["mount", "-o", "remount,hidepid=2", "/proc"], check=True)
    try:
        done = subprocess.run([sys.executable, script, a.recorder.whyslow, home], capture_output=True, text=True, timeout=200)
    finally:
        subprocess.run(["mount", "-o", "remount,hidepid=" + (before[1] if before else "0"), "/proc"], check=True)
    a.holds("nothing of another user is found", done.returncode == 0, (done.stdout + done.stderr)[-400:])
    return int(read_text(home + "/tries") or 0), "one's own processes"
