"""What a machine does to a recorder: each fault returns (tries, what was lost, what the user saw), and `holds` collects what did not hold.
tests/test-faults has the store alone, at each of its writes; here it is the recorder as a user starts it."""
import ctypes
import os
import random
import shutil
import socket
import subprocess
import time

from recorder import NOBODY, OTHER, Recorder, start_as_user, with_rights_of_unit

ALL = []


def fault(text):
    def add(function):
        ALL.append((function.__name__.replace("_", "-"), text, function))
        return function
    return add


class Fault:
    def __init__(self, whyslow, folder, build):
        self.whyslow, self.folder, self.build = whyslow, folder, build
        self.failures = []
        self.recorders = []
        self.spin = subprocess.Popen(["sh", "-c", "while :; do :; done"])  # an idle machine leaves the disk alone

    def finish(self):
        for recorder in self.recorders:
            if recorder.lives():
                recorder.kill()
        self.spin.kill()
        self.spin.wait()

    def holds(self, fact, ok, more=""):
        if not ok:
            self.failures.append(f"{fact}: {more}" if more else fact)
        return ok

    def recorder(self, **more):
        self.recorders.append(Recorder(self.whyslow, self.folder, **more))
        return self.recorders[-1]

    def with_fault(self, words):
        return {"LD_PRELOAD": f"{self.build}/tests/libfault.so", "FAULT": words}

    def ticks(self, *more):
        """Wall times of all ticks, in seconds."""
        done = subprocess.run([self.whyslow, "export", "--store", self.folder + "/state/r.db", "--run-dir", self.folder + "/run", "--format", "csv", "--since", "-1h", *more],
                              capture_output=True, text=True)
        seen = dict.fromkeys(line.split(",", 1)[0] for line in done.stdout.splitlines()[1:])
        return [float(text) for text in subprocess.run(["date", "-f", "-", "+%s.%N"], input="\n".join(seen), capture_output=True, text=True).stdout.split()]

    def is_sound(self):
        done = subprocess.run(["sqlite3", self.folder + "/state/r.db", "PRAGMA integrity_check"], capture_output=True, text=True)
        return done.stdout.strip() == "ok" or (done.returncode and done.stdout + done.stderr)


def last_of(f):
    ticks = f.ticks()
    return ticks[-1] if ticks else 0


@fault("SIGKILL at a random moment")
def kill(f):
    tries, worst = 20, 0
    chance = random.Random(4)
    for _ in range(tries):
        recorder = f.recorder()
        began = time.time()
        while last_of(f) < began:
            time.sleep(0.2)
        time.sleep(chance.uniform(0, 3))
        killed = time.time()
        recorder.kill()
        worst = max(worst, killed - last_of(f))
    f.holds("at most 1.2 s are lost", worst <= 1.2, f"{worst:.2f} s")
    f.holds("the file is sound", f.is_sound() is True, f.is_sound())
    return tries, f"at most {worst:.2f} s", "why: the recorder ended, it was killed"


@fault("SIGKILL in place of a write or within it, at the n-th write to disk or to /run")
def kill_at_write(f):
    tries = 0
    for call in (1, 3, 8, 20, 35, 60):
        kind = "torn" if call % 2 else "kill"
        recorder = f.recorder(environment=f.with_fault(f"{kind}:{call}:{f.folder}"))
        deadline = time.monotonic() + 8
        while recorder.lives() and time.monotonic() < deadline:
            time.sleep(0.05)
        recorder.kill()
        tries += 1
        begins = f.recorder()
        f.holds(f"the next one begins after {kind} at {call}", begins.lives(), begins.said()[-300:])
        done = begins.ask("list")
        f.holds("and answers", done.returncode in (0, 1), done.stderr)
        f.holds("and ends", begins.stop() == 0)
    f.holds("the file is sound", f.is_sound() is True, f.is_sound())
    return tries, "nothing that was written", "the next recorder begins normally"


@fault("the disk fails for 20 s (EIO, ENOSPC, EROFS), once with a kill before it comes back")
def disk_errors(f):
    tries = 0
    asked = f.folder + "/state.fails"
    for error in ("EIO", "ENOSPC", "EROFS"):
        for killed in (False, True):
            began = time.time()
            recorder = f.recorder(environment=f.with_fault(f"{error}:0:{f.folder}/state"))
            if not f.holds(f"it begins before {error}", recorder.lives(), recorder.said()[-300:]):
                continue
            before = len(recorder.said())
            open(asked, "w").close()
            time.sleep(20)
            f.holds(f"it outlives {error}", recorder.lives(), recorder.said()[-300:])
            f.holds(f"it says so once ({error})", recorder.said()[before:].count("the last seconds stay in memory: ") == 1, recorder.said()[before:])
            f.holds("questions are answered", recorder.ask("why").returncode in (0, 1))
            f.holds("marks are taken", recorder.ask("mark", f"the disk has {error}").returncode == 0)
            if killed:
                recorder.kill()
            os.unlink(asked)
            if not killed:
                f.holds("it says that it is over", wait_for(lambda: "no longer: the last seconds" in recorder.said()[before:], 25), recorder.said()[before:])
                f.holds("it ends", recorder.stop() == 0)
            ended = time.time()
            tries += 1
            ticks = [t for t in f.ticks() if began < t < ended]
            gap = max((b - a for a, b in zip(ticks, ticks[1:])), default=99)
            f.holds(f"no tick is lost ({error})", len(ticks) >= 18 and gap < 3, f"{len(ticks)} of {ended - began:.0f}, {gap:.1f} s between two")
            f.holds("the mark is there", f"the disk has {error}" in recorder.ask("list", "--store", recorder.store).stdout)
    f.holds("the file is sound", f.is_sound() is True, f.is_sound())
    return tries, "nothing", "the log: the last seconds stay in memory, with the reason, and when it is over; questions and marks go on"


def wait_for(condition, seconds):
    end_at = time.monotonic() + seconds
    while time.monotonic() < end_at:
        if condition():
            return True
        time.sleep(0.2)
    return False


@fault("a wall clock that is wrong: 40 days ahead for one start, 1970 at two starts, days to and fro while the recorder runs")
def wrong_clock(f):
    ahead, store = f.folder + "/ahead", f.folder + "/state/r.db"
    day, marks, segments, counts = 86400, 0, 0, []

    def set_clock(seconds):
        with open(ahead, "r+b" if os.path.exists(ahead) else "wb") as file:  # it is mapped
            file.write(int(seconds).to_bytes(8, "little", signed=True))

    def count():
        done = subprocess.run(["sqlite3", "-readonly", store, "SELECT count(*) FROM segment"], capture_output=True, text=True)
        counts.append(int(done.stdout or 0))
        return counts[-1]

    for offsets in ([0], [0], [40 * day], [-time.time() + 100], [-time.time() + 100], [0, 400 * day, -9 * day, 0], [0]):
        set_clock(offsets[0])
        recorder = f.recorder(environment={"LD_PRELOAD": f"{f.build}/tests/libwrong-clock.so", "WRONG_CLOCK": ahead})
        f.holds("it begins", recorder.lives(), recorder.said()[-300:])
        for offset in offsets:
            set_clock(offset)
            f.holds("the mark is taken", recorder.ask("mark", f"number {marks}", env={**os.environ, "LD_PRELOAD": f"{f.build}/tests/libwrong-clock.so", "WRONG_CLOCK": ahead}).returncode == 0)
            marks += 1
            time.sleep(4)
        f.holds("it ends", recorder.stop() == 0)
        before, segments = segments, count()
        f.holds("no segment goes", segments >= before + len(offsets), f"{counts}, {offsets}")
    listed = recorder.ask("list", "--store", store).stdout
    f.holds("no mark goes", all(f"number {i}" in listed for i in range(marks)), listed)
    steps = answer_of(f, store, "list", "--json")[1]
    f.holds("list has the steps", "the clock was set forward by" in steps and "the clock was set back by" in steps, steps)
    doctor = subprocess.run([f.whyslow, "doctor", "--run-dir", recorder.run, "--store", store], capture_output=True, text=True).stdout
    f.holds("doctor has them", "steps of the clock in the recording" in doctor, doctor)
    f.holds("the log has them", "no recording is deleted because of it" in recorder.said(), recorder.said()[-600:])
    return len(counts), "nothing", f"{segments} segments and {marks} marks are all there; the log, list and doctor name each step"


@fault("power cut: /run is gone")
def power_cut(f):
    tries, worst = 3, 0
    for _ in range(tries):
        recorder = f.recorder()
        time.sleep(random.uniform(12, 22))
        recorder.kill()
        shutil.rmtree(f.folder + "/run")
        worst = max(worst, time.time() - last_of(f))
    f.holds("at most 10 s are lost", worst <= 10, f"{worst:.1f} s")
    return tries, f"at most {worst:.1f} s", "a gap in the recording"


def answer_of(f, file, *words):
    done = subprocess.run([f.whyslow, *words, "--from", file], capture_output=True, text=True, errors="replace", timeout=100, env={**os.environ, "LC_ALL": "C.UTF-8"})
    return done.returncode, done.stdout, done.stderr


@fault("random bytes in a recording: 1 to 64 of them, anywhere; list, why, show, export")
def damage(f):
    recorder = f.recorder()
    recorder.ask("mark", "a moment that counts")
    time.sleep(20)
    now = int(time.time()) - 3
    at, before = f"@{now}", f"@{now - 60}"
    recorder.stop()
    good, bad = f.folder + "/good.db", f.folder + "/bad.db"
    subprocess.run([f.whyslow, "export", "--store", recorder.store, "--run-dir", recorder.run, "--format", "store", "--output", good], check=True, capture_output=True)
    with open(good, "rb") as file:
        whole = file.read()
    questions = (("list", "--json"), ("why", "--at", at, "--json"), ("show", "--at", at, "--json"), ("export", "--format", "csv", "--since", before, "--until", at))
    right = [answer_of(f, good, *words) for words in questions]
    f.holds("the questions have answers", all(code in (0, 1) and out for code, out, _ in right), [(code, said) for code, _, said in right])
    chance, same, told, silent, crashed, tries = random.Random(5), 0, 0, [], [], 100
    for _ in range(tries):
        spoiled = bytearray(whole)
        n, where = chance.choice([1, 4, 64]), chance.randrange(len(whole) - 64)
        spoiled[where:where + n] = bytes(b ^ chance.randrange(1, 256) for b in spoiled[where:where + n])
        with open(bad, "wb") as file:
            file.write(spoiled)
        for words, (_, out, _) in zip(questions, right):
            code, got, said = answer_of(f, bad, *words)
            if code < 0 or code > 3:
                crashed.append((words[0], where, n, code, said[-200:]))
            if strip(got, bad) == strip(out, good) and code <= 1:
                same += 1
            elif code == 3 or "damage" in got + said:
                told += 1
            else:
                silent.append((words[0], where, n))
    f.holds("nothing crashes", not crashed, crashed)
    f.holds("no answer differs without a word", not silent, f"{silent} of {len(questions) * tries}")
    return len(questions) * tries, "what the damaged pages held", f"{same} answers as before, {told} say what is damaged, {len(silent)} differ without a word"


def strip(text, file):
    return text.replace(file, "")


def without_rights(*names):
    words = with_rights_of_unit()
    words[-1] = ",".join(word for word in words[-1].split(",") if word not in ["+" + name for name in names])
    return words


@fault("a kernel without BPF for it (no CAP_BPF, no CAP_PERFMON), and without pressure")
def no_bpf(f):
    hidden = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc/pressure 2>/dev/null; exec "$@"', "sh"] if os.path.isdir("/proc/pressure") else []
    tries = 0
    for rights in (without_rights("bpf", "perfmon", "sys_admin"), hidden + with_rights_of_unit()):
        recorder = f.recorder(rights=rights)
        time.sleep(4)
        f.holds("it records", recorder.lives(), recorder.said()[-300:])
        done = recorder.ask("why")
        f.holds("it answers", done.returncode in (0, 1), done.stderr)
        doctor = subprocess.run([f.whyslow, "doctor", "--run-dir", recorder.run, "--store", recorder.store], capture_output=True, text=True)
        f.holds("doctor says what is missing", "GAP" in doctor.stdout or "missing" in doctor.stdout or "not available" in doctor.stdout, doctor.stdout[-300:])
        recorder.stop()
        tries += 1
    return tries, "what only BPF or pressure says", "doctor and the log name it; answers come"


@fault("a process with 10,000 threads begins and ends")
def threads(f):
    recorder = f.recorder()
    began = time.time()
    crowd = subprocess.Popen([f.build + "/tests/hostile", "threads", "10000"], stdout=subprocess.PIPE, text=True)
    f.holds("they run", crowd.stdout.readline() == "ready\n")
    time.sleep(6)
    crowd.kill()
    crowd.wait()
    ended = time.time()
    time.sleep(3)
    f.holds("it lives", recorder.lives(), recorder.said()[-300:])
    f.holds("it answers", recorder.ask("why").returncode in (0, 1))
    times = [t for t in f.ticks() if began < t < ended]
    gap = max((b - a for a, b in zip(times, times[1:])), default=99)
    f.holds("no tick is later than 3 s", gap <= 3, f"{gap:.1f} s")
    mib = recorder.private_mib()
    recorder.stop()
    return 1, "nothing", f"the longest time between two ticks was {gap:.2f} s; private memory {mib:.0f} MiB"


@fault("30,000 processes at once, which all end at once")
def many_processes(f):
    most = "/proc/sys/kernel/pid_max"
    had = open(most).read()
    with open(most, "w") as file:  # the others on this machine need numbers, too
        file.write(str(max(int(had), 131072)))
    recorder = f.recorder()
    began, slowest, answers = time.time(), 0, 0
    crowd = subprocess.Popen([f.build + "/tests/hostile", "processes", "30000"], stdout=subprocess.PIPE, text=True)
    try:
        f.holds("they run", crowd.stdout.readline() == "ready\n")
        for _ in range(10):
            asked = time.monotonic()
            answers += recorder.ask("why").returncode in (0, 1)
            slowest = max(slowest, time.monotonic() - asked)
            time.sleep(1)
        most_mib = recorder.private_mib()
    finally:
        crowd.kill()
        crowd.wait()
        wait_for(lambda: len([n for n in os.listdir("/proc") if n.isdigit()]) < 20000, 60)
        with open(most, "w") as file:
            file.write(had)
    ended = time.time()
    time.sleep(3)
    f.holds("it lives", recorder.lives(), recorder.said()[-300:])
    f.holds("each question is answered", answers == 10, str(answers))
    times = [t for t in f.ticks() if began < t < ended]
    gap = max((b - a for a, b in zip(times, times[1:])), default=99)
    f.holds("no tick is later than 3 s", gap <= 3, f"{gap:.1f} s")
    after = recorder.private_mib()
    f.holds("it ends", recorder.stop() == 0)
    return 30000, "nothing", (f"{answers} of 10 answers, the slowest after {slowest:.1f} s; the longest time between two ticks was {gap:.2f} s; "
                              f"private memory {most_mib:.0f} MiB with them, {after:.0f} MiB after")


@fault("process numbers wrap: 8,000 processes in a namespace with 4,000 numbers (since Linux 6.14)")
def pid_wrap(f):
    if tuple(int(n) for n in os.uname().release.split("-")[0].split(".")[:2]) < (6, 14):
        return 0, "", "not tried: here the limit is the whole machine's"
    recorder = f.recorder()
    before = recorder.private_mib()
    subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", "echo 4000 >/proc/sys/kernel/pid_max 2>/dev/null; i=0; while [ $i -lt 8000 ]; do /bin/true; i=$((i+1)); done"],
                   capture_output=True, timeout=200)
    f.holds("it lives", recorder.lives(), recorder.said()[-300:])
    f.holds("it answers", recorder.ask("why").returncode in (0, 1))
    after = recorder.private_mib()
    f.holds("memory stays within 20 MiB of before", after < before + 20, f"{before:.0f}, {after:.0f}")
    recorder.stop()
    return 8000, "nothing", f"private memory {before:.0f} MiB before, {after:.0f} MiB after"


def churn_names(stop_at):
    """Processes that live for a moment, each with a name of its own."""
    libc = ctypes.CDLL(None)
    n = 0
    while time.monotonic() < stop_at:
        pid = os.fork()
        if pid == 0:
            libc.prctl(15, b"churn-%d" % n, 0, 0, 0)
            time.sleep(0.3)
            os._exit(0)
        n += 1
        time.sleep(0.05)
        while n > 20 and os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return True


def middle(values):
    return sorted(values)[len(values) // 2]


def ask_all(f, recorder, before):
    """Each question by each user; how many they are."""
    asked = 0
    for uid in (0, NOBODY, OTHER):
        for words in (("mark", f"moment {before + asked}"), ("why", "--json"), ("list",), ("show",), ("cpu", "--for", "200ms")):
            asked += 1
            try:
                done = recorder.ask(*words, user=uid, group=uid, extra_groups=[])
            except subprocess.TimeoutExpired:  # the row says so, and the memory is measured all the same
                f.holds("each question is answered within 60 s", False, str(words))
                continue
            f.holds("each question is answered", done.returncode in (0, 1), f"{words}: {done.stderr[-100:]}")
    return asked


def open_tabs(f, recorder):
    """Four pages of one server, of as many windows, that stay open; it and they, to be ended."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    tokens = f.folder + "/web-tokens"
    token = subprocess.run([f.whyslow, "serve", "--token-file", tokens, "--add-token", "tabs"], capture_output=True, text=True).stdout.split()[-1]
    serve = subprocess.Popen([f.whyslow, "serve", "--user", "root", "--no-login", "--run-dir", recorder.run, "--token-file", tokens, "--listen", f"127.0.0.1:{port}"],
                             stdin=subprocess.DEVNULL, stderr=open(f.folder + "/serve.log", "w"))
    tabs = [subprocess.Popen(["curl", "-sSN", "--retry", "9", "--retry-connrefused", "-H", f"Authorization: Bearer {token}", "-o", f"{f.folder}/tab-{n}",
                              f"http://127.0.0.1:{port}/api/v1/events?window={n}min"], stdin=subprocess.DEVNULL) for n in (1, 2, 5, 10)]
    return [serve, *tabs]


def boards_of_tabs(f):
    return [open(f"{f.folder}/tab-{n}", errors="replace").read().count("event: ") if os.path.exists(f"{f.folder}/tab-{n}") else 0 for n in (1, 2, 5, 10)]


@fault("ten ticks a second for SOAK_MINUTES, with programs of new names, incidents, marks, questions of three users and four open pages")
def soak(f):
    seconds = 60 * float(os.environ.get("SOAK_MINUTES", "4"))
    recorder = f.recorder(settings="record.interval = 100ms\n")
    pages = open_tabs(f, recorder)
    began = time.monotonic()
    churn = start_as_user(NOBODY, lambda: churn_names(began + seconds))
    questions = 0
    samples = []
    while time.monotonic() < began + seconds and recorder.lives():
        burn = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2 if questions % 6 < 2 else 0)]
        try:
            questions += ask_all(f, recorder, questions)
            samples.append((recorder.private_mib(), recorder.descriptors(), recorder.threads()))
            time.sleep(3)
        finally:
            [p.kill() or p.wait() for p in burn]
    os.waitpid(churn, 0)
    boards = boards_of_tabs(f)
    f.holds("the pages stay open and get boards", all(p.poll() is None for p in pages) and min(boards) > seconds / 20, str(boards))
    [p.kill() or p.wait() for p in pages]
    third = len(samples) // 3
    early, late = samples[third:2 * third], samples[-third:]
    mib, least = [[choose([s[0] for s in part]) for part in (early, late)] for choose in (middle, min)]
    # it goes up and down with what is asked and compacted; what is lost raises what is left between
    f.holds("memory is flat", least[1] < least[0] + 4, f"at least {least[0]:.1f} MiB in the second third, {least[1]:.1f} MiB in the last: {[round(s[0]) for s in samples[::5]]}")
    f.holds("memory has a bound", max(s[0] for s in samples) <= 24, f"{max(s[0] for s in samples):.1f} MiB at most")
    f.holds("memory is given back after peaks", mib[1] <= 20, f"{mib[1]:.1f} MiB in the last third")
    f.holds("descriptors are flat", middle([s[1] for s in late]) <= middle([s[1] for s in early]) + 2, str([s[1] for s in samples[::5]]))
    f.holds("threads are flat", middle([s[2] for s in late]) <= middle([s[2] for s in early]), str([s[2] for s in samples[::5]]))
    f.holds("it ends when asked to", recorder.stop() == 0)
    f.holds("the file is sound", f.is_sound() is True, f.is_sound())
    return questions, "nothing", (f"in {seconds / 60:.0f} minutes ({10 * seconds:.0f} ticks) private memory {mib[0]:.0f} MiB (at least {least[0]:.0f}) in the second third, {mib[1]:.0f} MiB (at least {least[1]:.0f}) in the last, "
                                  f"at most {max(s[0] for s in samples):.0f} MiB; {samples[-1][1]} descriptors; the pages got {sum(boards)} events")


def started(words, log, says):
    """A process of the program that has said so."""
    with open(log, "w") as out:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
    return process, wait_for(lambda: says in open(log).read(), 60)


@fault("SIGKILL of the service, of an answer, of `serve` and of `spans receive`, 20 times each")
def kill_each(f):
    recorder, tries = f.recorder(), 20
    log = f.folder + "/killed.log"
    for _ in range(tries):
        asking = subprocess.Popen([f.whyslow, "list", "--follow", "--run-dir", recorder.run], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def is_told():
            for pid in recorder.answers():
                os.kill(pid, 9)
            return asking.poll() is not None

        f.holds("who asked a killed answer is told", wait_for(is_told, 60) and asking.poll() not in (0, 1), str(asking.poll()))
        asking.kill()
        asking.wait()
    f.holds("questions are answered after killed answers", recorder.ask("list").returncode in (0, 1))
    for _ in range(tries):
        before = recorder.answerer()
        os.kill(int(before), 9)
        f.holds("the service comes back", wait_for(lambda: recorder.lives() and recorder.ask("list").returncode in (0, 1), 30), recorder.said()[-300:])
    f.holds("the recorder outlives its service", recorder.lives(), recorder.said()[-300:])
    for words, says in (([f.whyslow, "serve", "--run-dir", recorder.run, "--listen", "127.0.0.1:0", "--user", "root"], "http"),
                        ([f.whyslow, "spans", "receive", "--store", f.folder + "/spans.db", "--listen", "127.0.0.1:0", "--token-file", f.folder + "/tokens"], "listening")):
        for _ in range(tries):
            process, begins = started(words, log, says)
            f.holds(f"{words[1]} begins after it was killed", begins, open(log).read()[-300:])
            process.kill()
            process.wait()
    f.holds("the recorder ends", recorder.stop() == 0)
    return 4 * tries, "nothing", "an error for who asked; the next question is answered, the next process begins normally"


@fault("single bits of a recording change; every verb that reads one, and its page")
def bit_flips(f):
    recorder, chance, tries, damaged = f.recorder(), random.Random(6), 60, 0
    recorder.ask("mark", "before the bits changed")
    time.sleep(5)
    recorder.stop()
    whole, path = open(recorder.store, "rb").read(), f.folder + "/flipped.db"
    verbs = (["why"], ["list"], ["list", "--alike"], ["list", "--by-program"], ["show"], ["history"], ["compare", "-1m", "now"], ["waits"], ["threads"], ["flame"],
             ["export", "--format", "csv"], ["export", "--format", "html"], ["fleet", "history"])
    for i in range(tries):
        bytes_ = bytearray(whole)
        at = chance.randrange(len(bytes_))
        bytes_[at] ^= 1 << chance.randrange(8)
        with open(path, "wb") as out:
            out.write(bytes_)
        for words in (verbs[i % len(verbs)],):
            where = [path] if words[0] == "fleet" else ["--from", path]
            with open(f.folder + "/out", "w") as out:
                process = subprocess.Popen([f.whyslow, *words, *where], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
                ended = wait_for(lambda: process.poll() is not None, 60)
                process.kill()
                process.wait()
            f.holds("each verb ends by itself, with a status of its own", ended and 0 <= process.returncode <= 3, f"{words}: {process.returncode}, bit of byte {at}")
            damaged += "damage" in open(f.folder + "/out", errors="replace").read()
    return tries, "what the damaged page held", f"{damaged} answers name the damage; no crash, none takes longer than 60 s"


@fault("3,000 forks a second and 5,000 threads at once")
def forks_and_threads(f):
    recorder = f.recorder()
    before = recorder.private_mib()
    threads = subprocess.Popen(["python3", "-c", "import threading, time\nthreading.stack_size(65536)\nfor _ in range(5000): threading.Thread(target=time.sleep, args=(40,), daemon=True).start()\ntime.sleep(25)"])
    forks = subprocess.Popen(["stress-ng", "--fork", "4", "--timeout", "25s"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    began, answered, worst, most = time.time(), 0, 0, 0
    while forks.poll() is None:
        asked = time.monotonic()
        answered += recorder.ask("why").returncode in (0, 1)
        worst, most = max(worst, time.monotonic() - asked), max(most, recorder.private_mib())
    threads.kill()
    threads.wait()
    ended = time.time()
    f.holds("it lives, and answers", recorder.lives() and answered, recorder.said()[-300:])
    f.holds("no report is too large to save", "too large to save" not in recorder.said(), recorder.said()[-300:])
    f.holds("nothing was cut off", recorder.ask("why").returncode in (0, 1))
    recorder.stop()
    ticks = [t for t in f.ticks() if began < t < ended]
    gap = max((b - a for a, b in zip(ticks, ticks[1:])), default=99)
    f.holds("no tick is lost", gap < 3, f"{gap:.1f} s")
    f.holds("memory has a bound", most < before + 40, f"{before:.0f} MiB before, {most:.0f} MiB")
    return answered, "nothing", f"{answered} answers, the slowest after {worst:.1f} s; the longest time between two ticks was {gap:.2f} s; private memory {before:.0f} MiB before, {most:.0f} MiB at most"
