"""A recorder of its own, started as root outside of a unit, and those who attack it: for tests/strangers and tests/torture."""
import array
import os
import shutil
import signal
import socket
import subprocess
import time

NOBODY, OTHER = 65534, 65533


def with_rights_of_unit():
    """All that the unit grants must do: the words that start a program so."""
    with open(os.path.dirname(os.path.abspath(__file__)) + "/../../packaging/whyslow.service.in") as f:
        granted = next(line for line in f if line.startswith("CapabilityBoundingSet=")).split("=")[1].split()
    return ["setpriv", "--no-new-privs", "--bounding-set", "-all," + ",".join("+" + name[len("CAP_"):].lower() for name in granted)]


def as_user(uid, work):
    """Runs work() in a process of that user; its result is the exit status (0 = true)."""
    pid = start_as_user(uid, work)
    return os.waitpid(pid, 0)[1] == 0


def start_as_user(uid, work):
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            status = 0 if work() else 1
        finally:
            os._exit(status)
    return pid


def end(pids):
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    for pid in pids:
        os.waitpid(pid, 0)


class Recorder:
    def __init__(self, whyslow, folder, settings="", environment=None, rights=None):
        self.whyslow = whyslow
        self.run = folder + "/run"
        self.log = folder + "/log"
        self.config = folder + "/whyslow.conf"
        self.store = folder + "/state/r.db"
        self.settings = settings
        self.configure("0666")
        os.makedirs(folder + "/state", 0o700, exist_ok=True)  # as systemd makes it
        if os.path.exists(self.run + "/socket"):  # of one that was killed
            os.unlink(self.run + "/socket")
        words = with_rights_of_unit() if rights is None else rights
        self.process = subprocess.Popen([*words, whyslow, "record", "--run-dir", self.run, "--store", self.store, "--config", self.config],
                                        stdin=subprocess.DEVNULL, stdout=open(self.log, "a"), stderr=subprocess.STDOUT,
                                        env=None if environment is None else {**os.environ, **environment})
        for _ in range(300):
            if os.path.exists(self.run + "/socket") and os.path.exists(self.run + "/journal"):
                break
            if not self.lives():
                return
            time.sleep(0.1)
        time.sleep(2)

    def configure(self, mode):
        with open(self.config, "w") as f:
            f.write(f"socket.mode = {mode}\n{self.settings}")

    def reload(self, mode):
        self.configure(mode)
        self.process.send_signal(signal.SIGHUP)
        for _ in range(300):
            if os.stat(self.run + "/socket").st_mode & 0o777 == int(mode, 8):
                return True
            time.sleep(0.1)
        return False

    def lives(self):
        return self.process.poll() is None

    def said(self):
        with open(self.log, errors="replace") as f:
            return f.read()

    def answerer(self):
        """The process that forks the answers: a child of the one that starts it."""
        pid = self.process.pid
        for _ in range(2):
            with open(f"/proc/{pid}/task/{pid}/children") as f:
                pid = f.read().split()[0]
        return pid

    def answers(self):
        """Processes that answer now."""
        answerer = self.answerer()
        with open(f"/proc/{answerer}/task/{answerer}/children") as f:
            return [int(pid) for pid in f.read().split()]

    def descriptors(self):
        return sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in (self.process.pid, self.answerer()))

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def private_mib(self):
        """The recorder's private anonymous memory (heap, stacks, blocks), in MiB. Not Private_*: while a fork of it lives, which copies events or
        answers, the kernel counts the pages of both as shared, so that would show how often one lives."""
        with open(f"/proc/{self.process.pid}/smaps_rollup") as f:
            return sum(int(line.split()[1]) for line in f if line.startswith("Anonymous:")) / 1024

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as f:
            fields = f.read().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def ask(self, *words, **more):
        return subprocess.run([self.whyslow, *words, "--run-dir", self.run], capture_output=True, text=True, timeout=more.pop("timeout", 60), errors="replace", **more)

    def ask_file(self, *words):
        """Without this recorder."""
        return subprocess.run([self.whyslow, *words], capture_output=True, text=True, timeout=60, errors="replace", stdin=subprocess.DEVNULL)

    def ask_as(self, uid, words, path):
        """What the recorder's socket answers to a user goes to a file of that user's, as the user's own program gets it. True: it is whole."""
        def work():
            s = self.connect()
            s.send(b"".join(word.encode() + b"\0" for word in words.split()))
            s.settimeout(60)
            pipes = list(socket.recv_fds(s, 1, 2)[1])
            with open(path, "wb") as f, os.fdopen(pipes[0], "rb") as answer:
                shutil.copyfileobj(answer, f)
            return s.recv(1) == b"\0"
        return as_user(uid, work)

    def connect(self):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.connect(self.run + "/socket")
        return s

    def stop(self):
        """The exit status; None if it had to be killed."""
        self.process.terminate()
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None

    def kill(self):
        self.process.kill()
        self.process.wait()


def send_with(s, bytes_, fds, address=None):
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
    try:
        s.sendmsg([bytes_], ancillary, socket.MSG_DONTWAIT, *([address] if address else []))
        return True
    except OSError:  # refused by the socket (Linux 6.16), or its queue is full
        return False


def lingering_socket():
    """A TCP socket whose close waits for 100 s: what it sent is not taken."""
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    server.bind(("127.0.0.1", 0))
    server.listen()
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, array.array("i", [1, 100]).tobytes())
    client.connect(server.getsockname())
    client.setblocking(False)
    try:
        while True:
            client.send(b"x" * 65536)
    except BlockingIOError:
        pass
    return server, client
