"""Where hangs are played: scripts and programs of their own, a recorder of their own, and nothing left behind."""
import json
import mmap
import os
import pathlib
import pwd
import re
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import threading
import time

from recording import Asked
from stage import Actor, enter, find_program, finish, has_program, read_children, run_quietly

STARTS_WITHIN = 120  # seconds, the recorder on a busy machine
SAMPLED_EVERY = 0.02  # seconds

# What a client repeats, and when the last time was done: in memory, so that timing makes no call. Commands are started twice a second: a machine is
# not idle on which hundreds of programs are.
TIMED = """import mmap, os, random, struct, sys, time
SHORTEST, LONGEST = {pauses}
page = mmap.mmap(os.open(sys.argv[0] + ".done", os.O_RDWR), 8)
def repeat(request, least=0):
    while True:
        request()
        struct.pack_into("d", page, 0, time.monotonic())
        time.sleep(max(pause(), least))
def pause():
    return SHORTEST * (LONGEST / SHORTEST) ** random.random()
def repeat_command(request):
    repeat(request, 0.5)
"""

# Asks a server on the port of its argument over one connection, again and again.
TCP_CLIENT = """import socket, sys, timed
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
def ask():
    server.sendall(b"order")
    server.recv(16)
timed.repeat(ask)
"""

# Such a server, with a thread a connection, which calls `before_answer()` first: a kind's own, put before this.
THREADED_SERVER = """import socketserver, sys
class Answer(socketserver.BaseRequestHandler):
    def handle(self):
        while self.request.recv(16):
            before_answer()
            self.request.sendall(b"done")
class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address = daemon_threads = True
Server(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""

# A server becomes late by a signal: put before those that call `before_answer()`.
LATE = """import signal, time
late = 0
def become_late(*_):
    global late
    late = 2
signal.signal(signal.SIGUSR1, become_late)
def before_answer(*_):
    time.sleep(late)
"""

# A web server on the port of its argument, which calls `before_answer(path)` first; `threaded`: with a thread a request. Both are put before this.
HTTP_SERVER = """import http.server, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        before_answer(self.path)
        self.send_response(200)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"shop")
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer if threaded else http.server.HTTPServer
server(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""

# Asks a web server on the port of its argument for the path of the next one: over one connection, or over a new one for each request.
HTTP_CLIENT = """import http.client, sys, timed
server = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
def ask():
    server.request("GET", sys.argv[2])
    server.getresponse().read()
timed.repeat(ask)
"""
HTTP_VISIT = """import http.client, sys
def ask():
    server = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    server.request("GET", sys.argv[2])
    server.getresponse().read()
    server.close()
"""
HTTP_ONE_VISIT = HTTP_VISIT + "ask()\n"
HTTP_VISITS = HTTP_VISIT + "import timed\ntimed.repeat(ask)\n"

# Answers each name of four letters in .test with 127.0.0.1.
NAME_SERVER = LATE + """import socket, sys
door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
door.bind(("127.0.0.1", int(sys.argv[1])))
while True:
    query, who = door.recvfrom(512)
    before_answer()
    door.sendto(query[:2] + bytes([0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]) + query[12:27] + bytes([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1]), who)
"""

# A file system in user space, after the kernel's include/uapi/linux/fuse.h: a folder with one file, "photo", of 4 bytes, which answers late by a signal.
# Put before it: its `name`, and `open_flags`: 1 (FOPEN_DIRECT_IO) = the file is never cached.
FUSE_SERVER = """import ctypes, os, signal, struct, sys, time
INIT, LOOKUP, GETATTR, OPEN, READ, FORGET, INTERRUPT = 26, 1, 3, 14, 15, 2, 36
late = 0
def become_late(*_):
    global late
    late = 2
signal.signal(signal.SIGUSR1, become_late)
fuse = os.open("/dev/fuse", os.O_RDWR)
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"album", os.fsencode(sys.argv[1]), b"fuse." + name, 0, b"fd=%d,rootmode=40755,user_id=0,group_id=0" % fuse):
    raise SystemExit("cannot mount")
def attributes(node):
    mode, size = (0o40755, 0) if node == 1 else (0o100644, 4)
    return struct.pack("=QQQQQQIIIIIIIIII", node, size, 1, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)
def answer(code, node, body):
    if code == INIT:
        return struct.pack("=IIIIHHIIHHI7I", 7, 31, 0, 0, 12, 9, 65536, 1, 16, 0, 0, *[0] * 7)
    if code == LOOKUP and body == b"photo" + bytes(1):
        return struct.pack("=QQQQII", 2, 0, 0, 0, 0, 0) + attributes(2)
    if code == GETATTR:
        return struct.pack("=QII", 0, 0, 0) + attributes(node)
    if code == OPEN:
        return struct.pack("=QII", 0, open_flags, 0)
    if code == READ:
        time.sleep(late)
        return b"tree"
    return None
while True:
    request = os.read(fuse, 1 << 20)
    size, code, unique, node = struct.unpack_from("=IIQQ", request)
    said = answer(code, node, request[40:size])
    if code not in (FORGET, INTERRUPT):
        os.write(fuse, struct.pack("=IiQ", 16 + len(said or b""), 0 if said is not None else -2 if code == LOOKUP else 0, unique) + (said or b""))
"""

# Asks PostgreSQL what its first argument says, over one session of psql that the others begin.
PSQL_CLIENT = """import subprocess, sys, timed
psql = subprocess.Popen([*sys.argv[2:], "-qAt"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
def ask():
    psql.stdin.write(sys.argv[1] + ";\\n")
    psql.stdout.readline()
timed.repeat(ask)
"""

# Begins with that over a session of psql, and does not end it.
PSQL_HOLDER = """import subprocess, sys, time
psql = subprocess.Popen([*sys.argv[2:], "-q"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, bufsize=1)
psql.stdin.write("BEGIN; " + sys.argv[1] + ";\\n")
time.sleep(1000)
"""

# Asks MariaDB what its first argument says, each time with one line of answer, over one session of the command that the others are.
MARIADB_CLIENT = """import subprocess, sys, timed
session = subprocess.Popen([*sys.argv[2:], "-N", "-n"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
def ask():
    session.stdin.write(sys.argv[1] + ";\\n")
    session.stdout.readline()
timed.repeat(ask)
"""

# Says that in such a session, and does not end it.
MARIADB_HOLDER = """import subprocess, sys, time
session = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, bufsize=1)
session.stdin.write(sys.argv[1] + ";\\n")
time.sleep(1000)
"""

# A web server before a pool of PHP's processes.
PHP_PROGRAM = min((path.name for path in pathlib.Path("/usr/sbin").glob("php-fpm*")), default="php-fpm")
PHP_FRONT = """daemon off; user root; worker_processes 1; pid {name}-front.pid; error_log {name}-front.log;
events {{ }} http {{ access_log off; server {{ listen 127.0.0.1:{port}; root {folder}; location / {{
fastcgi_pass unix:{folder}/{name}.socket; fastcgi_read_timeout 1000; fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
fastcgi_param REQUEST_METHOD $request_method; {parameters} }} }} }}
"""
PHP_POOL = """[global]
daemonize = no
error_log = {folder}/{name}.log
[www]
user = root
listen = {folder}/{name}.socket
pm = static
pm.max_children = {processes}
{settings}
"""

# Bystanders that always work: one computes for most of each tenth of a second, the other one reads the libraries of this machine, niced.
DESK = """import time
while True:
    end = time.monotonic() + 0.07
    while time.monotonic() < end:
        sum(range(1000))
    time.sleep(0.03)
"""
INDEXER = """import os, pathlib, time
os.nice(19)
while True:
    for path in pathlib.Path("/usr/lib").rglob("*.so*"):
        if path.is_file():
            hash(path.read_bytes())
        time.sleep(0.005)
"""


class Clock:
    """The longest that a client of a kind went without an answer."""

    def __init__(self, path):
        path.write_bytes(bytes(8))
        with open(path, "r+b") as file:
            self.page = mmap.mmap(file.fileno(), 8)
        self.begin()

    def begin(self):
        self.slowest_of = {}  # of each second

    def look(self):
        done, second = struct.unpack_from("d", self.page)[0], int(time.monotonic())
        if done:
            self.slowest_of[second] = max(self.slowest_of.get(second, 0), time.monotonic() - done)

    @property
    def usually(self):
        return statistics.median(self.slowest_of.values()) if self.slowest_of else 0

    @property
    def slowest(self):
        return max(self.slowest_of.values(), default=0)


class HangRecorder(Asked):
    """A recorder with a store and a run folder of its own; a context."""

    def __init__(self, stage):
        self.whyslow, self.folder = stage.whyslow, stage.folder / "recorder"
        self.here = ["--run-dir", str(self.folder / "run")]  # as users do: the recorder answers

    def __enter__(self):
        self.folder.mkdir()
        self.log = open(self.folder / "log", "w+")
        record = [self.whyslow, "record", "--store", str(self.folder / "recording.db"), *self.here]
        self.process = subprocess.Popen(record, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, preexec_fn=lambda: enter([], 0, signal.SIGTERM))
        end = time.monotonic() + STARTS_WITHIN
        while not any((self.folder / "run").glob("journal/*")) and self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        if self.process.poll() is not None:
            raise SystemExit(f"the recorder does not start: {pathlib.Path(self.log.name).read_text()}")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.log.close()

    def mark(self, note):
        return re.search(r"mark (\d+)", self.run("mark", note).stdout)[1]

    def ask(self, *arguments):
        said = self.run(*arguments, "--json")
        if said.returncode > 1:
            return {"slow": False, "culprits": [], "summary": f"NO ANSWER: {said.stderr.strip()}", "bottleneck": None}
        return json.loads(said.stdout)


class Program:
    """A culprit that another program starts: all of its name that are there, and what they start."""

    def __init__(self, stage, name):
        self.stage, self.name = stage, name

    def pids(self):
        children, found = read_children(), list(self.stage.pids_of(self.name))
        for pid in found:
            found += children.get(pid, [])
        return found


class Stage:
    def __init__(self, build, folder, pauses):
        self.whyslow, self.folder = os.environ.get("WHYSLOW") or str(pathlib.Path(build).resolve() / "src/whyslow"), pathlib.Path(folder)
        self.folder.chmod(0o755)
        (self.folder / "timed.py").write_text(TIMED.replace("{pauses}", repr(pauses)))
        self.actors, self.clocks, self.mounts, self.kind = [], {}, [], None
        self.of_kind = {}

    def __enter__(self):
        self.sampling = True
        self.sampler = threading.Thread(target=self._sample)
        self.sampler.start()
        return self

    def __exit__(self, *_):
        self.sampling = False
        self.sampler.join()
        for actor in list(self.actors):
            self._end(actor)
        for path in self.mounts:
            run_quietly("umount", "--lazy", path)

    def _sample(self):
        while self.sampling:
            for clock in list(self.clocks.values()):
                clock.look()
            time.sleep(SAMPLED_EVERY)

    def prepare(self, name, kind):
        """False, and says so, where a program that it needs is not installed."""
        missing = [program for program in getattr(kind, "NEEDS", ()) if not has_program(program)]
        if missing:
            print(f"skipped {name}: not installed: {', '.join(missing)}", flush=True)
            return False
        self.kind = name
        self.of_kind[name] = []
        kind.prepare(self)
        return True

    def start_bystanders(self):
        self.kind = "bystanders"
        self.of_kind[self.kind] = []
        self.start("desk", DESK)
        self.start("indexer", INDEXER)

    # --- for kinds ---

    def start(self, name, script, *arguments):
        """A Python script under a name of its own."""
        path = self.folder / f"{name}.py"
        path.write_text(script)
        if "import" in script and "timed" in script:
            self.clocks[self.kind] = Clock(path.with_suffix(".py.done"))
        return self.run(sys.executable, path, *arguments, name=name)

    def run(self, program, *arguments, name, user=None):
        process = subprocess.Popen([find_program(program) or program, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, cwd=self.folder, preexec_fn=lambda: enter([], 0, signal.SIGKILL, user))
        actor = Actor(name, process, "")
        self.actors.append(actor)
        self.of_kind[self.kind].append(actor)
        return actor

    def actor(self, name):
        return next(actor for actor in self.actors if actor.name == name)

    def program(self, name):
        return Program(self, name)

    def end(self, name):
        self._end(self.actor(name))

    def signal(self, name, number):
        self.actor(name).process.send_signal(number)
        return self.actor(name)

    finish = staticmethod(finish)

    @staticmethod
    def find(program):
        return find_program(program)

    @staticmethod
    def rest(seconds):
        time.sleep(seconds)

    def mount_point(self, name):
        path = self.folder / name
        path.mkdir()
        self.mounts.append(path)
        return path

    def make_postgres(self, name="postgres"):
        """A new database of user postgres, in a folder of that name."""
        data, who = self.folder / name, pwd.getpwnam("postgres")
        data.mkdir()
        os.chown(data, who.pw_uid, who.pw_gid)
        subprocess.run([find_program("initdb"), "-D", data, "--no-sync", "-A", "trust"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       cwd=self.folder, preexec_fn=lambda: enter([], 0, signal.SIGKILL, "postgres"))
        return data

    def start_mariadb(self, name):
        """A new database server, in a folder of that name."""
        data = self.folder / name
        self.finish("mariadb-install-db", "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal", "--user=root")
        self.run("mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={data}/socket", "--innodb-lock-wait-timeout=1000", "--skip-networking",
                 "--innodb-buffer-pool-size=16M", "--user=root", name=name)
        self.rest(4)

    def start_php(self, name, port, processes, parameters="", settings=""):
        """NAME-pool and NAME-front, which serves the pages of the folder."""
        words = {"name": name, "port": port, "folder": self.folder, "processes": processes, "parameters": parameters, "settings": settings}
        (self.folder / f"{name}-front.conf").write_text(PHP_FRONT.format(**words))
        (self.folder / f"{name}.conf").write_text(PHP_POOL.format(**words))
        self.run(PHP_PROGRAM, "-R", "-n", "-y", self.folder / f"{name}.conf", name=f"{name}-pool")
        self.rest(2)
        self.run("nginx", "-p", self.folder, "-c", f"{name}-front.conf", name=f"{name}-front")
        self.rest(1)

    def ask_mariadb(self, name):
        """The command that asks it."""
        return self.find("mariadb"), "--no-defaults", f"--socket={self.folder / name}/socket", "-u", "root"

    def mount_over_ssh(self, name, file, content):
        """A folder with one file over SSH's protocol, without SSH: served by the actor NAME-server. Where it is mounted."""
        shared, up, down = (self.folder / f"{name}-{part}" for part in ("files", "up", "down"))
        shared.mkdir()
        (shared / file).write_text(content)
        os.mkfifo(up)
        os.mkfifo(down)
        place = self.mount_point(name)
        self.run("sh", "-c", f"exec /usr/lib/openssh/sftp-server <{up} >{down}", name=f"{name}-server")
        self.run("sh", "-c", f"exec sshfs -f -o passive,direct_io,dir_cache=no,attr_timeout=0,entry_timeout=0 :{shared} {place} >{up} <{down}",
                 name=f"{name}-mount")
        return place

    @staticmethod
    def forget_semaphore(name):
        pathlib.Path(f"/dev/shm/sem.{name.lstrip('/')}").unlink(missing_ok=True)

    # --- for the runner ---

    def recorder(self):
        return HangRecorder(self)

    def begin_kind(self, kind):
        """Its client's usual slowest answer of a second; from now on it is timed anew."""
        usually = self.clocks[kind].usually
        self.clocks[kind].begin()
        self.kind = kind
        return usually

    def slowest(self, kind):
        return self.clocks[kind].slowest

    def pids_with_children(self, actor):
        return set(actor.pids())

    def pids_of(self, name):
        """Of an actor; of a program that others start, all that are there."""
        for actor in self.actors:
            if actor.name == name:
                return {actor.process.pid}
        own = {pid for actor in self.of_kind[self.kind] for pid in actor.pids()}
        return {pid for pid in own if _comm(pid) == name} - {actor.process.pid for actor in self.of_kind[self.kind]}

    def end_kind(self, kind):
        self.clocks.pop(kind)
        for actor in self.of_kind[kind]:
            self._end(actor)

    def _end(self, actor):
        if actor in self.actors:
            actor.kill()
            self.actors.remove(actor)

    def keep(self, folder):
        shutil.copytree(self.folder / "recorder", folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("run"))


def _comm(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return None
