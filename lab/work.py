"""Ordinary work: what people and timers have a machine do, one thing after another, with pauses.

Nothing here is meant to hurt; much of it is felt by the others while it goes on. TASKS has a row for each: its name, how often it is chosen, the programs it needs,
and the command ($W: the lab's folder, $D: one for this, $J: how many jobs at a time).
"""
import os
import pathlib
import shutil
import time

import life
from stage import find_program, finish, has_program

PROJECT = pathlib.Path(__file__).resolve().parent.parent
FILES = 60  # of C code that are compiled together
PAUSE = 12  # seconds between the end of one task and the next, in the mean
TWO_AT_ONCE = 0.3  # of the tasks begin while another one is not done yet
BROWSER = "chromium --headless=new --no-sandbox --disable-gpu --no-first-run --remote-debugging-port=19222 --user-data-dir=$D/profile"

TASKS = (
    ("build of a project", 2, ("meson", "ninja", "git"), "cd $D/project && rm -rf build && meson setup build && ninja -C build -j$J"),
    ("build of what was changed", 8, ("meson", "ninja", "git"), "cd $D/project && { [ -e build/build.ninja ] || meson setup build; } && "
     "touch $(git ls-files 'src/*.c' | shuf -n 4) && ninja -C build -j2"),
    ("build with make", 5, ("make", "gcc"), "cd $D/code && rm -f *.o && make -j$J"),
    ("package upgrade", 6, ("debootstrap",), "chroot $D/root apt-get -y --reinstall install $(chroot $D/root dpkg-query -W -f '${Package}\\n' | shuf -n 25)"),
    ("package installation", 4, ("debootstrap",), "chroot $D/root apt-get -y install python3 vim-tiny git; chroot $D/root apt-get -y autoremove --purge python3 vim-tiny git"),
    ("look for upgrades", 3, ("debootstrap",), "chroot $D/root apt-get update; chroot $D/root apt-get -s dist-upgrade"),
    ("browsing", 9, ("chromium", "curl"), f"rm -rf $D/profile; {BROWSER} about:blank & b=$!; sleep 3; for i in $(seq 12); do "
     "p=$(find /usr/share/doc $D/pages -name '*.html' | shuf -n 1); curl -s -X PUT \"http://127.0.0.1:19222/json/new?file://$p\"; sleep $((2 + i % 4)); done; kill $b; wait"),
    ("report from the database", 5, ("postgres", "psql"), "for i in 1 2 3; do psql -h $W/postgres -U postgres -c "
     "\"SELECT a.bid, count(*), avg(a.abalance), max(b.bbalance) FROM pgbench_accounts a JOIN pgbench_branches b USING (bid) GROUP BY 1\" bench; sleep 2; done"),
    ("dump of the database", 3, ("postgres", "pg_dump"), "pg_dump -h $W/postgres -U postgres bench | gzip >$D/dump.gz"),
    ("vacuum of the database", 2, ("postgres", "psql"), "psql -h $W/postgres -U postgres -c 'VACUUM ANALYZE' bench"),
    ("load into the database", 3, ("postgres", "psql"), "psql -h $W/postgres -U postgres -c "
     "\"DROP TABLE IF EXISTS loaded; CREATE TABLE loaded AS SELECT i, md5(i::text) FROM generate_series(1, 800000) i; CREATE INDEX ON loaded (md5)\" bench"),
    ("backup", 4, ("restic",), "export RESTIC_REPOSITORY=$D/restic RESTIC_PASSWORD=lab; [ -d $D/restic ] || restic -q --no-cache init; restic -q --no-cache backup $D/project /etc /usr/share/perl"),
    ("a film", 6, ("ffmpeg",), "timeout 60 ffmpeg -nostdin -loglevel error -re -stream_loop -1 -threads 1 -i $W/video.mkv -f null - || true"),
    ("conversion of a film", 3, ("ffmpeg",), "ffmpeg -nostdin -loglevel error -y -i $W/video.mkv -c:v libx264 -preset veryfast -threads $J $D/film.mkv"),
    ("search in files", 5, (), "grep -rn 'struct task' /usr/include /usr/share/perl $D/project; find /usr -name '*.so*' -newer /etc/passwd"),
    ("history of a project", 4, ("git",), "cd $D/project && git log -p --stat -n 300 && git grep -n duration $(git rev-list -n 20 HEAD) && git gc -q"),
    ("nightly list of files", 2, ("updatedb.plocate",), "ionice -c 3 nice -n 19 updatedb.plocate -U / -o $D/names --require-visibility 0"),
    ("nightly list of manuals", 2, ("mandb",), "ionice -c 3 nice -n 19 mandb -c -q"),
    ("an archive", 4, ("zstd",), "tar -C /usr/share -cf - perl doc | zstd -q -f -T1 -o $D/archive.zst; tar -C $D -xf $D/archive.zst --one-top-level=unpacked; rm -rf $D/unpacked"),
    ("copy of a folder", 4, (), "rm -rf $D/copy; cp -r /usr/include $D/copy; du -s $D/copy; rm -rf $D/copy"),
    ("download", 3, ("curl", "nginx"), f"for i in 1 2 3; do curl -s -o $D/downloaded http://127.0.0.1:{life.PORT}/page; sleep 1; done"),
    ("calculation in python", 4, ("python3",), "python3 -c \"import random, statistics; a = [random.random() for i in range(2000000)]; a.sort(); print(statistics.stdev(a))\""),
    ("tests of a program", 4, ("python3",), "cd /usr/lib/python3*/ && python3 -m compileall -q -f -o 1 json email http 2>&1 | head -1; python3 -m timeit -n 400000 -s 'import json' 'json.dumps({})'"),
    ("a look at the machine", 4, (), "for i in 1 2 3 4 5; do ps aux; df; free; sleep 2; done"),
    ("log rotation", 2, ("gzip",), "seq 4000000 >$D/log; gzip -f $D/log; sync $D/log.gz"),
)
DATABASE = {"report from the database", "dump of the database", "vacuum of the database", "load into the database"}


def folder_of(stage):
    return stage.work / "work"


def can(needs):
    return all(map(has_program, needs))


def make(stage):
    """What takes long and is made once."""
    folder = folder_of(stage)
    (folder / "pages").mkdir(parents=True, exist_ok=True)
    if not (folder / "project").exists() and has_program("git"):
        finish("git", "clone", "-q", PROJECT, folder / "project")
    if not (folder / "code").exists():
        make_code(folder / "code")
    if not (folder / "root/made").exists() and has_program("debootstrap"):
        make_root(folder / "root")
    for i in range(6):
        rows = "".join(f"<tr>{''.join(f'<td>{i * row * column % 997}</td>' for column in range(12))}</tr>" for row in range(2500))
        (folder / f"pages/{i}.html").write_text(f"<table>{rows}</table>")


def make_code(folder):
    folder.mkdir()
    for i in range(FILES):
        life.write_code(folder / f"part{i}.c", 120)
    (folder / "Makefile").write_text("all: $(patsubst %.c,%.o,$(wildcard *.c))\nCFLAGS = -O2\n")


def make_root(folder):
    """A Debian of its own: what is installed there changes nothing here."""
    shutil.rmtree(folder, ignore_errors=True)
    finish(find_program("debootstrap"), "--variant=minbase", "bookworm", folder)
    (folder / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
    (folder / "usr/sbin/policy-rc.d").chmod(0o755)
    (folder / "made").touch()


def chosen(chance):
    known = [task for task in TASKS if can(task[2])]
    return chance.choices(known, [often for _, often, _, _ in known])[0]


def begin(stage, task, chance):
    """The actor that does it."""
    name, _, _, command = task
    jobs = chance.choice((1, os.cpu_count(), os.cpu_count() + 1))
    return stage.start("sh", "-c", f"W={stage.work} D={folder_of(stage)} J={jobs}; {command}", name=name)


class Working:
    """Goes from task to task until told to end; `done` has what was done: name, from, to, pids, executables, names."""

    def __init__(self, stage, chance):
        self.stage, self.chance, self.running, self.done = stage, chance, {}, []
        self.next_at = time.time()

    def step(self):
        for actor in [actor for actor in self.running if actor.process.poll() is not None]:
            self._end(actor)
        if time.time() < self.next_at:
            return
        actor = begin(self.stage, task := chosen(self.chance), self.chance)
        self.running[actor] = time.time()
        print(f"{time.strftime('%H:%M:%S')} {task[0]}", flush=True)
        self.next_at = time.time() + self.chance.expovariate(1 / PAUSE) if self.chance.random() < TWO_AT_ONCE else float("inf")

    def _end(self, actor):
        if actor.process.poll():
            print(f"{time.strftime('%H:%M:%S')} {actor.name} ended with status {actor.process.returncode}", flush=True)
        self.done.append({"name": actor.name, "begin": self.running.pop(actor), "end": time.time(), "pids": sorted(actor.descendants),
                          "exes": sorted(actor.exes), "names": sorted(actor.names)})
        self.stage.actors.remove(actor)
        if not self.running:
            self.next_at = time.time() + self.chance.expovariate(1 / PAUSE)

    def end(self):
        for actor in list(self.running):
            actor.kill()
            self._end(actor)
