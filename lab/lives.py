"""Machines that people live on: what is always there, mostly waiting, and what is done now and then.

Nothing in here is meant to hurt. Much of it waits for minutes and is innocent: a pager for a key, a tool for its shell, the shell for a script, the script for
`sleep`. A life has `always`: (name, programs it needs, command), and `tasks`: (name, every how many seconds in the mean, programs it needs, command). Commands are
bash's, in the life's own folder; $W is the lab's. A seed says what is there, and what is done when; tasks overlap as chance has it. This file is also the program that
starts the tasks, as a timer service does: `lives.py LIFE SEED`.
"""
import dataclasses
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

from stage import has_program

AT_ONCE = 3  # tasks: what is due beyond that waits
PRESENT = 0.85  # of what is always there, in one seed; the tool is there in each
LONGEST = 60  # seconds of one task: who takes longer is ended
SOURCES, FUNCTIONS = 16, 60  # of the project: a whole build takes some ten seconds of CPU time

# A tool that runs commands for a user and reads what they print. Each polls for something, for minutes, with `sleep`.
TOOL = """import os, random, subprocess, sys, threading, time
chance = random.Random(sys.argv[1])
COMMANDS = (
    "out=$(bash -c 'for i in $(seq {n}); do [ -e answer-{i} ] && break; sleep 2; done; echo over'); echo $out",
    "bash -c 'until [ -e answer-{i} ] || [ $((n += 1)) -gt {n} ]; do sleep 1; done; date' | tail -n 3",
    "timeout {s} tail -n 0 -f log/build.log 2>/dev/null | grep --line-buffered -m 1 finished; echo over",
    "for i in $(seq {n}); do git -C project status --short | head -n 2; sleep 3; done",
    "sleep {s}; echo waited",
    "bash -c 'i=0; while [ $i -lt {n} ]; do i=$((i + 1)); echo step $i; sleep 2; done' | while read line; do echo \\"$line\\"; done",
)
def keep_running(i):
    while True:
        n = chance.randint(15, 150)
        command = chance.choice(COMMANDS).replace("{n}", str(n)).replace("{i}", str(i)).replace("{s}", str(2 * n))
        shell = subprocess.Popen(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in shell.stdout:
            pass
        shell.wait()
        time.sleep(chance.uniform(0.2, 15))
for i in range(int(sys.argv[2])):
    threading.Thread(target=keep_running, args=(i,)).start()
"""

# An editor with its language server: a change now and then, and what the server says about it is read.
IDE = """import json, pathlib, random, subprocess, sys, threading, time
chance = random.Random(sys.argv[1])
server = subprocess.Popen(["clangd", "-j=1", "--background-index=false", "--log=error"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def say(method, number=None, **parameters):
    said = {"jsonrpc": "2.0", "method": method, "params": parameters} | ({"id": number} if number else {})
    body = json.dumps(said).encode()
    server.stdin.write(b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
    server.stdin.flush()
threading.Thread(target=lambda: [None for _ in iter(lambda: server.stdout.read1(65536), b"")], daemon=True).start()
path = pathlib.Path("project/part1.c").resolve()
text, version = path.read_text(), 1
say("initialize", 1, processId=None, rootUri=path.parent.as_uri(), capabilities={})
say("initialized")
say("textDocument/didOpen", textDocument={"uri": path.as_uri(), "languageId": "c", "version": 1, "text": text})
while True:
    time.sleep(chance.expovariate(1 / 12))
    version += 1
    say("textDocument/didChange", textDocument={"uri": path.as_uri(), "version": version}, contentChanges=[{"text": text + f"int late{version};\\n"}])
"""

# A web application as such are: a master that forks workers, which accept on one socket; each request looks into a database file.
WORKERS = """import os, signal, socket, sqlite3, sys, time
door = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=64)
with sqlite3.connect("shop.db") as base:
    base.execute("CREATE TABLE IF NOT EXISTS goods (id INTEGER PRIMARY KEY, name TEXT, stock INTEGER)")
    base.executemany("INSERT OR IGNORE INTO goods VALUES (?, ?, ?)", [(i, f"thing {i}", i % 7) for i in range(20000)])
def work():
    base = sqlite3.connect("shop.db", timeout=5)
    while True:
        client, _ = door.accept()
        with client:
            asked = client.recv(4096)
            found = base.execute("SELECT name, stock FROM goods WHERE name LIKE ? LIMIT 20", (f"%{len(asked) % 90}%",)).fetchall()
            body = repr(found).encode()
            client.sendall(b"HTTP/1.0 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body)
for _ in range(3):
    if os.fork() == 0:
        work()
while True:
    os.wait()
"""

# Visitors of a few web servers, each with pauses of its own; some connections are kept and asked nothing for long.
VISITORS = """import random, socket, sys, threading, time, urllib.request
chance = random.Random(sys.argv[1])
def visit(url):
    while True:
        try:
            urllib.request.urlopen(url, timeout=20).read()
        except OSError:
            pass
        time.sleep(chance.expovariate(1.5))
def keep(port):
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port)) as server:
                server.settimeout(60)
                server.recv(1)
        except OSError:
            time.sleep(5)
for url in sys.argv[2:]:
    threading.Thread(target=visit, args=(url,)).start()
    threading.Thread(target=keep, args=(int(url.split(":")[2].split("/")[0]),)).start()
"""

# A mail server that says nothing new most of the time, and a reader that asks it each few seconds and waits for news in between (as IMAP's IDLE).
MAIL = """import random, select, socket, sys, threading, time
chance = random.Random(sys.argv[1])
door = socket.create_server(("127.0.0.1", int(sys.argv[2])))
def serve(client):
    with client:
        while client.recv(100):
            time.sleep(chance.uniform(0.01, 0.3))
            client.sendall(b"no news")
def accept():
    while True:
        threading.Thread(target=serve, args=(door.accept()[0],)).start()
threading.Thread(target=accept).start()
"""
MAIL_READER = """import random, select, socket, sys, time
chance = random.Random(sys.argv[1])
server = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
while True:
    server.sendall(b"news?")
    select.select([server], [], [], 30)
    server.recv(100)
    select.select([server], [], [], chance.uniform(5, 40))
"""

# Jobs come into a queue of redis now and then, and workers block until there is one.
PRODUCER = """import random, subprocess, sys, time
chance = random.Random(sys.argv[1])
while True:
    time.sleep(chance.expovariate(1 / 4))
    subprocess.run(["redis-cli", "-p", sys.argv[2], "RPUSH", f"jobs-{chance.randint(0, 2)}", "x" * chance.randint(10, 4000)], stdout=subprocess.DEVNULL)
"""
CONSUMER = """import hashlib, socket, sys
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
read = server.makefile("rb")
queue = sys.argv[2].encode()
while True:
    server.sendall(b"*3\\r\\n$5\\r\\nBLPOP\\r\\n$%d\\r\\n%s\\r\\n$1\\r\\n0\\r\\n" % (len(queue), queue))
    for _ in range(3):
        line = read.readline()
    job = [read.readline() for _ in range(2)][-1]
    for _ in range(2000):
        job = hashlib.sha256(job).digest()
"""

TMUX = """set -g exit-empty off
set -g default-shell /bin/bash
new-session -d -s desk -n shell -x 160 -y 50 'bash --norc'
new-window -t desk -n repl 'python3 -q -i'
new-window -t desk -n pager 'less +200 project/part2.c'
new-window -t desk -n follow 'tail -n 0 -f log/build.log | grep --line-buffered -i error'
new-window -t desk -n watch 'watch -n 2 git -C project status --short'
new-window -t desk -n make 'bash --norc'
new-window -t desk -n shell2 'bash --norc'
"""
BROWSER = "chromium --headless=new --no-sandbox --disable-gpu --no-first-run --disable-background-networking --user-data-dir=profile"
TYPE = "tmux -L lab send-keys -t desk:"  # into a window of the terminal multiplexer
TOUCH = "cd project && for i in $(seq {n}); do echo \"int more$RANDOM;\" >>part$((RANDOM % 16)).c; done; cd .."


@dataclasses.dataclass(frozen=True)
class Life:
    always: tuple
    tasks: tuple
    scripts: dict


LIVES = {
    "developer": Life((
        ("tmux", ("tmux",), "exec tmux -D -L lab -f tmux.conf"),
        ("watcher", ("inotifywait",), "inotifywait -q -m -r -e close_write project | while read -r line; do echo \"$line\" >>log/changes.log; done"),
        ("ide", ("clangd",), "exec python3 ide.py $SEED"),
        ("tool", (), "exec python3 tool.py $SEED 5"),
        ("browser", ("chromium",), f"exec {BROWSER} --remote-debugging-port=0 file://$PWD/page.html"),
        ("chat", (), "python3 mail.py $SEED 18311 & sleep 1; exec python3 reader.py $SEED 18311"),
        ("agent", ("ssh-agent",), "exec ssh-agent -D"),
    ), (
        ("make", 70, ("make", "gcc"), TOUCH.replace("{n}", "4") + f"; {TYPE}make 'clear; make -C project -j2 2>&1 | tee -a log/build.log' Enter; sleep 2"),
        ("rebuild", 200, ("make", "gcc"), "rm -f project/*.o; make -s -C project -j6 2>&1 | tee -a log/build.log | tail -n 2; echo finished >>log/build.log"),
        ("colleague", 60, ("git",), "cd colleague && echo $RANDOM >>notes && git add notes && git commit -qm more && git push -q"),
        ("fetch", 50, ("git",), "cd project && git fetch -q && git log --oneline -n 5 ..FETCH_HEAD | cat"),
        ("commit", 120, ("git",), "cd project && git add -A && git commit -qm step; git gc --auto -q"),
        ("search", 60, (), f"{TYPE}shell2 'clear; grep -rn struct /usr/include/linux | wc -l' Enter; sleep 3"),
        ("history", 120, ("git",), f"{TYPE}shell 'q' Enter; {TYPE}shell 'clear; git -C project log --stat -n 20 | less' Enter; sleep 1"),
        ("tests", 90, (), "x=$(cd project && for i in 1 2 3 4; do python3 -m timeit -n 60000 'sum(range(50))'; sleep 1; done); echo \"$x\" | tail -n 1"),
        ("upgrade", 150, ("apt-get",), "apt-get -s dist-upgrade | tail -n 3; apt-cache search editor | wc -l"),
        ("download", 100, ("curl",), "curl -s -o downloaded --limit-rate 400k http://127.0.0.1:18088/page --next -s -o downloaded http://127.0.0.1:18088/fast/page"),
        ("package", 150, ("dpkg-deb",), "rm -rf unpacked; mkdir -p unpacked/DEBIAN; cp -r /usr/include/linux unpacked/; "
         "printf 'Package: lab\\nVersion: 1\\nArchitecture: all\\nMaintainer: lab\\nDescription: lab\\n' >unpacked/DEBIAN/control; dpkg-deb -Zgzip -b unpacked lab.deb"),
        ("nightly", 240, (), "nice -n 19 find /usr/share -newer /etc/hostname | sort | tail -n 1; tar -C /usr/include -cf - linux | gzip >nightly.tar.gz"),
        ("look", 45, (), "ps aux | sort -k 3 | tail -n 3; df >/dev/null; free | cat"),
        ("manual", 80, ("man",), "man -P cat bash 2>/dev/null | wc -l"),
    ), {"tool.py": TOOL, "ide.py": IDE, "mail.py": MAIL, "reader.py": MAIL_READER, "tmux.conf": TMUX}),
    "runner": Life((
        ("tool", (), "exec python3 tool.py $SEED 6"),
        ("poller", (), "while :; do [ -e stop ] && break; ls queue | head -n 1 >next; sleep 3; done"),
        ("queue-shell", (), "while :; do job=$(bash -c 'while ! ls queue/* 2>/dev/null | head -n 1 | grep .; do sleep 2; done'); rm -f $job; tar -C project -cf - . | gzip -1 >artifact.gz; done"),
        ("log-follower", (), "tail -n 0 -F log/build.log | while read -r line; do echo \"$line\" >>log/shipped.log; done"),
        ("lock-holder", ("flock",), "while :; do flock lock bash -c 'sleep $((RANDOM % 25 + 5))'; sleep $((RANDOM % 5)); done"),
        ("lock-waiter", ("flock",), "while :; do flock lock bash -c 'sleep $((RANDOM % 10))'; sleep 2; done"),
        ("health", ("curl",), "while :; do curl -s -o /dev/null -m 5 http://127.0.0.1:18088/small; sleep 4; done"),
        ("service", (), "exec python3 workers.py 18321"),
    ), (
        ("checkout", 60, ("git",), "rm -rf checkout; git clone -q upstream.git checkout; cp project/Makefile checkout/ 2>/dev/null; ls checkout | wc -l"),
        ("build", 55, ("make", "gcc"), "rm -f project/part[0-7].o; make -s -C project -j2 2>&1 | tee -a log/build.log | tail -n 1; echo finished >>log/build.log"),
        ("matrix", 160, ("make", "gcc"), "for j in 1 2 3; do (rm -rf matrix$j; cp -r project matrix$j; rm -f matrix$j/part[0-4].o; make -s -C matrix$j -j2) & done; wait"),
        ("tests", 70, (), "bash -c 'for i in $(seq 8); do python3 -c \"sum(i * i for i in range(400000))\"; echo ok $i; sleep 0.5; done' | tee report | grep -c ok"),
        ("integration", 80, (), "rm -f ready; (sleep $((RANDOM % 12 + 4)); touch ready) & until [ -e ready ]; do sleep 1; done; wait; echo ready"),
        ("stages", 90, (), "rm -f a.done; bash -c 'sleep $((RANDOM % 9 + 3)); touch a.done' | cat & while ! [ -e a.done ]; do sleep 0.5; done; wait"),
        ("artifact", 75, ("xz",), "tar -C project -cf - . | xz -1 >artifact.xz; sha256sum artifact.xz"),
        ("container", 50, ("unshare",), "unshare -mpfu --mount-proc bash -c 'hostname job; mount -t tmpfs none /mnt; for i in 1 2 3; do seq 200000 | sort -R | tail -n 1 >/mnt/x; sleep 1; done'"),
        ("submit", 40, (), "mkdir -p queue; touch queue/$RANDOM"),
        ("deploy", 120, ("flock",), "flock -w 40 lock bash -c 'cp -r project deployed-$$; sleep 2; rm -rf deployed-$$'"),
        ("scan", 110, (), "find /usr/share/doc -name copyright -print0 | head -z -n 1500 | xargs -0 -n 40 grep -l GPL | wc -l"),
        ("cache", 100, ("zstd",), "tar -C /usr/include -cf - linux c++ 2>/dev/null | zstd -q -f -T1 -o cache.zst; rm -rf cache; mkdir cache; tar -C cache -xf cache.zst"),
        ("requests", 30, ("curl",), "for i in $(seq 12); do curl -s -m 5 -o /dev/null http://127.0.0.1:18321/; sleep 0.3; done"),
    ), {"tool.py": TOOL, "workers.py": WORKERS}),
    "server": Life((
        ("workers", (), "exec python3 workers.py 18331"),
        ("queue", ("redis-server",), "mkdir -p redis; exec redis-server --port 18332 --bind 127.0.0.1 --dir redis --save '15 1' --loglevel warning"),
        ("producer", ("redis-server",), "sleep 2; exec python3 producer.py $SEED 18332"),
        ("consumers", ("redis-server",), "until redis-cli -p 18332 ping >/dev/null 2>&1; do sleep 0.2; done; for i in 0 1 2; do python3 consumer.py 18332 jobs-$i & done; python3 consumer.py 18332 jobs-never & wait"),
        ("visitors", ("nginx",), "sleep 2; exec python3 visitors.py $SEED http://127.0.0.1:18088/small http://127.0.0.1:18331/goods http://127.0.0.1:18331/"),
        ("log-shipper", (), "tail -n 0 -F log/access.log 2>/dev/null | while read -r line; do echo \"$line\" >>log/shipped.log; done"),
        ("access", (), "while :; do echo \"$(date) GET / 200 $RANDOM\" >>log/access.log; sleep 0.$((RANDOM % 9 + 1)); done"),
        ("health", ("curl",), "while :; do for p in 18088/small 18331/; do x=$(curl -s -m 5 -o /dev/null -w '%{time_total}' http://127.0.0.1:$p); echo \"$p $x\" >>log/health.log; done; sleep 3; done"),
        ("bank", ("postgres", "pgbench"), "exec pgbench -h $W/postgres -U postgres -n -R 12 -c 2 -T 1000000 bench"),
        ("tool", (), "exec python3 tool.py $SEED 2"),
    ), (
        ("logrotate", 60, ("logrotate",), "printf '%s/log/access.log {\\n size 1\\n rotate 4\\n compress\\n copytruncate\\n}\\n' $PWD >rotate.conf; logrotate -s rotate.state rotate.conf"),
        ("backup", 110, ("rsync",), "rsync -a --delete /usr/share/doc/ backup/ 2>/dev/null; rm -rf backup/a*; du -s backup | cat"),
        ("dump", 90, ("postgres", "pg_dump"), "pg_dump -h $W/postgres -U postgres bench | gzip -1 | head -c 20000000 >dump.gz"),
        ("churn", 40, ("postgres", "psql"), "psql -q -h $W/postgres -U postgres -c 'CREATE TABLE IF NOT EXISTS visits (i int, t text)' -c "
         "\"INSERT INTO visits SELECT i, md5(i::text) FROM generate_series(1, 30000) i\" -c 'DELETE FROM visits WHERE random() < 0.7' bench"),
        ("report", 100, ("postgres", "psql"), "psql -q -h $W/postgres -U postgres -c 'SELECT bid, count(*), avg(abalance) FROM pgbench_accounts GROUP BY 1' bench | tail -n 1"),
        ("vacuum", 160, ("postgres", "psql"), "psql -q -h $W/postgres -U postgres -c 'VACUUM ANALYZE pgbench_branches' -c 'VACUUM visits' bench"),
        ("fill", 45, ("redis-server",), "for i in $(seq 300); do echo SET key$((RANDOM % 5000)) $RANDOM$RANDOM$RANDOM; done | redis-cli -p 18332 | tail -n 1"),
        ("cron", 30, (), "ls -R /etc | md5sum; test -e /var/run/reboot-required; true"),
        ("statistics", 80, (), "zcat -f log/access.log* | cut -d ' ' -f 9 | sort | uniq -c | sort -n | tail -n 3"),
        ("scrape", 25, (), "cat /proc/[0-9]*/stat >/dev/null 2>&1; cat /proc/meminfo /proc/diskstats | wc -l"),
        ("upload", 120, ("curl",), "head -c 30000000 /usr/bin/python3.11 >upload; curl -s -m 20 -T upload http://127.0.0.1:18331/ | tail -c 10"),
        ("certificates", 200, ("openssl",), "openssl req -x509 -newkey rsa:3072 -nodes -keyout key.pem -out cert.pem -subj /CN=lab 2>/dev/null"),
    ), {"workers.py": WORKERS, "visitors.py": VISITORS, "producer.py": PRODUCER, "consumer.py": CONSUMER, "tool.py": TOOL}),
    "desktop": Life((
        ("session", ("Xvfb",), "Xvfb :71 -screen 0 1280x800x24 -nolisten tcp & sleep 2; export DISPLAY=:71; xclock -update 1 & xeyes & xterm -e bash --norc & xlogo & wait"),
        ("player", ("ffmpeg",), "exec ffmpeg -nostdin -loglevel error -re -stream_loop -1 -threads 1 -i $W/video.mkv -f null -"),
        ("sync", ("inotifywait", "rsync"), "mkdir -p documents remote; while :; do inotifywait -q -r -t 40 -e close_write documents >/dev/null; rsync -a documents/ remote/; done"),
        ("mail", (), "python3 mail.py $SEED 18341 & sleep 1; exec python3 reader.py $SEED 18341"),
        ("spooler", (), "mkdir -p spool; [ -p spool/jobs ] || mkfifo spool/jobs; while :; do while read -r job; do gs=$(seq 50000 | md5sum); sleep 1; done <spool/jobs; done"),
        ("bus", ("dbus-daemon",), "exec dbus-daemon --session --nofork --nopidfile --address=unix:path=$PWD/bus"),
        ("browser", ("chromium",), f"exec {BROWSER} --remote-debugging-port=0 file://$PWD/page.html"),
        ("tool", (), "exec python3 tool.py $SEED 1"),
        ("chat", (), "python3 mail.py $SEED 18342 & sleep 1; exec python3 reader.py $SEED 18342"),
    ), (
        ("save", 25, (), "mkdir -p documents; head -c $((RANDOM * 60)) /dev/urandom >documents/letter$((RANDOM % 9))"),
        ("print", 60, (), "[ -p spool/jobs ] && timeout 5 bash -c 'echo job >spool/jobs'"),
        ("indexer", 110, ("updatedb.plocate",), "ionice -c 3 nice -n 19 updatedb.plocate -U /usr/share -o names --require-visibility 0"),
        ("updater", 130, ("apt-get",), "apt-get -s dist-upgrade | tail -n 1; apt-cache dump | wc -l"),
        ("thumbnails", 80, ("ffmpeg",), "for i in 1 2 3 4; do ffmpeg -nostdin -y -loglevel error -ss $i -i $W/video.mkv -frames:v 1 -vf scale=160:-1 thumb$i.jpg; done"),
        ("search", 70, (), "grep -rl editor /usr/share/doc 2>/dev/null | head -n 300 | wc -l"),
        ("unpack", 90, (), "rm -rf unpacked; tar -C /usr/include -czf pack.tgz linux; mkdir unpacked; tar -C unpacked -xzf pack.tgz"),
        ("convert", 180, ("ffmpeg",), "ffmpeg -nostdin -y -loglevel error -t 4 -i $W/video.mkv -c:v libx264 -preset ultrafast film.mkv"),
        ("copy", 100, (), "rm -rf copy; cp -r /usr/share/perl copy; du -s copy | cat"),
        ("terminal", 40, ("Xvfb",), "DISPLAY=:71 timeout 6 xterm -e 'ls -lR /etc | tail -n 200; sleep 1'"),
        ("notes", 50, (), "python3 -c \"import json; json.dumps([{'a': i} for i in range(200000)])\""),
        ("manuals", 200, ("mandb",), "mkdir -p man; cp -r /usr/share/man/man1 man/ 2>/dev/null; nice -n 19 mandb -q -c man 2>/dev/null"),
    ), {"tool.py": TOOL, "mail.py": MAIL, "reader.py": MAIL_READER}),
}


def folder_of(stage, name):
    return stage.work / "lives" / name


def make(stage, name, write_code):
    """What takes long and is made once: a project, its repository, a page."""
    folder = folder_of(stage, name)
    if (folder / "made").exists():
        return
    stage.finish("rm", "-rf", folder)
    for part in ("project", "log", "queue", "documents"):
        (folder / part).mkdir(parents=True)
    for i in range(SOURCES):
        write_code(folder / f"project/part{i}.c", FUNCTIONS)
    (folder / "project/Makefile").write_text("all: $(patsubst %.c,%.o,$(wildcard *.c))\nCFLAGS = -O2\n")
    (folder / "project/.gitignore").write_text("*.o\n")
    rows = "".join(f"<tr>{''.join(f'<td>{i * j}</td>' for j in range(10))}</tr>" for i in range(1500))
    (folder / "page.html").write_text(f"<title>0</title><script>setInterval(() => document.title++, 1000)</script><table>{rows}</table>")
    commit = ("-c", "user.name=lab", "-c", "user.email=lab@localhost", "commit", "-qm", "all")
    stage.finish("git", "init", "-q", folder=folder / "project")
    for key, value in (("user.name", "lab"), ("user.email", "lab@localhost")):
        stage.finish("git", "config", key, value, folder=folder / "project")
    stage.finish("git", "add", "-A", folder=folder / "project")
    stage.finish("git", *commit, folder=folder / "project")
    stage.finish("git", "clone", "-q", "--bare", "project", "upstream.git", folder=folder)
    stage.finish("git", "remote", "add", "origin", "../upstream.git", folder=folder / "project")
    stage.finish("git", "clone", "-q", "upstream.git", "colleague", folder=folder)
    for key, value in (("user.name", "colleague"), ("user.email", "colleague@localhost")):
        stage.finish("git", "config", key, value, folder=folder / "colleague")
    (folder / "made").touch()


def start(stage, name, seed):
    """All that is always there, and who starts the tasks."""
    folder, life, chance = folder_of(stage, name), LIVES[name], random.Random(f"{name}/{seed}")
    for script, text in life.scripts.items():
        (folder / script).write_text(text)
    variables = (f"W={stage.work}", f"SEED={seed}", f"HOME={folder}", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "TERM=xterm", "LC_ALL=C.UTF-8")
    for what, needs, command in life.always:
        if all(map(has_program, needs)) and (chance.random() < PRESENT or what == "tool"):
            stage.start("env", *variables, "bash", "-c", command, name=what, folder=folder)
    stage.start("env", *variables, "python3", pathlib.Path(__file__).resolve(), name, seed, name="timers", folder=folder)


class Timers:
    """Starts each task again and again, as long as it is asked to."""

    def __init__(self, life, chance):
        self.chance, self.running = chance, {}
        self.due = {task: time.monotonic() + chance.uniform(0, task[1]) for task in life.tasks if all(map(has_program, task[2]))}

    def step(self):
        now = time.monotonic()
        for task, (process, begin) in list(self.running.items()):
            if process.poll() is not None:
                del self.running[task]
            elif now - begin > LONGEST:
                os.killpg(process.pid, signal.SIGKILL)
        for task in sorted(self.due, key=self.due.get):
            if self.due[task] > now or len(self.running) >= AT_ONCE:
                break
            self.due[task] = now + self.chance.expovariate(1 / task[1])
            if task not in self.running:
                self.running[task] = self.begin(task), now

    @staticmethod
    def begin(task):
        return subprocess.Popen(["bash", "-c", task[3]], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def main():
    name, seed = sys.argv[1:]
    timers = Timers(LIVES[name], random.Random(f"{name}/{seed}/tasks"))
    while True:
        timers.step()
        time.sleep(0.5)


if __name__ == "__main__":
    main()
