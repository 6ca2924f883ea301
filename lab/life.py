"""The background: normal life, with innocents who are the biggest in every resource, but always are.

A `top` sorted by whatever names one of these. `editor` is the one who suffers, and says how late it was. Real programs
where Debian has them; those that are not installed are left out, and the run says so.
"""
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import time

import lives
from stage import FAR_ADDRESS, QUOTA, SHORT, find_program, has_program, run_quietly

MEBIBYTE = 1 << 20
ARCHIVE = 2048 * MEBIBYTE
PORT = 18088
NIGHTLY_EVERY, NIGHTLY_LASTS = 40, 5  # seconds; by the wall clock, as cron does
BUILD_EVERY = 14
CHECKPOINT_EVERY = 60  # seconds: of postgres' usual five minutes the baseline would not know
KEYS = 1500000  # in redis
SCALE = 20  # of pgbench: 300 MB

NGINX = """daemon off; user root; worker_processes 1; pid nginx.pid; error_log error.log;
events {{ }}
http {{ access_log off; server {{ listen 127.0.0.1:{port}; root {root}; limit_rate 1m; location /fast/ {{ alias {root}/; limit_rate 0; }} }} }}
"""


def database_size():
    """Megabytes: big, but no burden for the machine."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(1536, memory // 8 // MEBIBYTE)


def renderer(stage):
    stage.start("burn", os.cpu_count(), 38, name="renderer")


def encoder(stage):
    stage.start("burn", 1, 100, name="encoder", nice=19)


def video(stage):
    stage.start("ffmpeg", "-nostdin", "-re", "-stream_loop", -1, "-threads", 1, "-i", stage.work / "video.mkv", "-f", "null", "-",
                name="video")


def make_video(stage):
    path = stage.work / "video.mkv"
    if not path.exists():
        partial = path.with_suffix(".part.mkv")
        subprocess.run(["ffmpeg", "-nostdin", "-y", "-loglevel", "error", "-f", "lavfi", "-i", "testsrc2=size=1920x1080:rate=25", "-t",
                        "12", "-c:v", "libx264", "-preset", "veryfast", partial], check=True)
        partial.rename(path)


def backup(stage):
    stage.start("stream", "read", stage.work / "archive", ARCHIVE // MEBIBYTE, 250, name="backup")


def make_backup(stage):
    stage.file("archive", ARCHIVE)


def camera(stage):
    stage.start("stream", "write", stage.work / "footage", 4096, 40, name="camera")


def application(stage):
    stage.start("serve", 800, 12000, 64, name="application")


def database(stage):
    stage.start("serve", 8, 64, database_size(), name="database", group=SHORT)


def make_memory_short(stage, chance, room):
    """A swap area, and a limit for SHORT: so many megabytes in addition to the database."""
    stage.use_swap(1024 * MEBIBYTE, compressed=chance.random() < 0.5)
    stage.groups.set_memory((database_size() + room) * MEBIBYTE)


def give_memory_back(stage):
    stage.groups.set_memory(None)
    stage.drop_swap()


def web_server(stage):
    stage.start("nginx", "-p", stage.work / "web", "-c", "nginx.conf", name="nginx")


def make_web_server(stage):
    folder = stage.work / "web"
    folder.mkdir(exist_ok=True)
    (folder / "nginx.conf").write_text(NGINX.format(port=PORT, root=folder))
    (folder / "page").write_bytes(b"page" * 25000)
    (folder / "small").write_bytes(b"page" * 50)


def wait_for_web_server(seconds=20):
    for _ in range(seconds * 10):
        try:
            socket.create_connection(("127.0.0.1", PORT), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("nginx does not answer")


def visitors(stage):
    wait_for_web_server()
    stage.start("wrk", "-t", 1, "-c", 8, "-d", 1000000, f"http://127.0.0.1:{PORT}/page", name="wrk")


def redis(stage):
    stage.start("redis-server", "--port", 0, "--unixsocket", redis_socket(stage), "--save", "", "--dir", stage.work / "redis",
                "--enable-debug-command", "local", name="redis")


def redis_socket(stage):
    return stage.work / "redis" / "socket"


def make_redis(stage):
    folder = stage.work / "redis"
    folder.mkdir(exist_ok=True)
    if (folder / "dump.rdb").exists():
        return
    server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", redis_socket(stage), "--save", "", "--dir", folder,
                               "--enable-debug-command", "local"], stdout=subprocess.DEVNULL)
    try:
        wait_for_redis(stage)
        ask = ["redis-cli", "-s", redis_socket(stage)]
        subprocess.run([*ask, "DEBUG", "POPULATE", str(KEYS), "key", "100"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([*ask, "SAVE"], check=True, stdout=subprocess.DEVNULL)
    finally:
        server.kill()
        server.wait()


def wait_for_redis(stage, seconds=20):
    for _ in range(seconds * 10):
        said = subprocess.run(["redis-cli", "-s", redis_socket(stage), "PING"], capture_output=True, text=True, check=False).stdout
        if said.strip() == "PONG":
            return
        time.sleep(0.1)
    raise SystemExit("redis does not answer")


def redis_user(stage):
    wait_for_redis(stage)
    ask = f"redis-cli -s {redis_socket(stage)} -r -1 -i 0.02 SET visitor somebody"
    stage.start("sh", "-c", f"while :; do {ask}; sleep 0.1; done", name="redis-user")  # who asks gives up when the server is gone


def postgres(stage):
    folder = stage.work / "postgres"
    (folder / "postmaster.pid").unlink(missing_ok=True)  # of one that was killed
    stage.start("postgres", "-D", folder, "-c", "listen_addresses=", "-k", folder, "-c", "shared_buffers=128MB", "-c",
                f"checkpoint_timeout={CHECKPOINT_EVERY}", name="postgres", user="postgres", folder=folder)


def make_postgres(stage):
    folder = stage.work / "postgres"
    if (folder / "made").exists():
        return
    subprocess.run(["rm", "-rf", folder], check=True)
    folder.mkdir()
    os.chown(folder, *postgres_user())
    run = dict(user="postgres", cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run([find_program("initdb"), "-D", folder, "-A", "trust", "-U", "postgres"], **run)
    control = [find_program("pg_ctl"), "-D", folder, "-o", f"-c listen_addresses= -k {folder}", "-w"]
    subprocess.run([*control, "start"], **run)
    try:
        subprocess.run(["createdb", "-h", folder, "-U", "postgres", "bench"], **run)
        subprocess.run([find_program("pgbench"), "-h", folder, "-U", "postgres", "-i", "-s", str(SCALE), "-q", "bench"], **run)
    finally:
        subprocess.run([*control, "stop"], **run)
    (folder / "made").touch()


def postgres_user():
    who = pwd.getpwnam("postgres")
    return who.pw_uid, who.pw_gid


def wait_for_postgres(stage, seconds=30):
    """It may have to recover: it was killed."""
    for _ in range(seconds * 5):
        if run_quietly("psql", "-h", stage.work / "postgres", "-U", "postgres", "-c", "SELECT 1", "bench") == 0:
            return
        time.sleep(0.2)
    raise SystemExit("postgres does not answer")


def keep_asking_postgres(stage, question, name):
    """A client that asks it again and again."""
    ask = f'psql -h {stage.work}/postgres -U postgres -c "{question}" bench'
    return stage.start("sh", "-c", f"while :; do {ask}; done", name=name, user="postgres", folder=stage.work / "postgres")


def end_questions(stage, alike):
    """The server would go on with them for nobody. alike: a regular expression."""
    run_quietly("psql", "-h", stage.work / "postgres", "-U", "postgres", "-c",
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ~ '{alike}' AND pid <> pg_backend_pid()", "bench")


def make_mariadb(stage):
    data = stage.work / "mariadb"
    if not (data / "mysql").exists():
        stage.finish("mariadb-install-db", "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal", "--user=root")


def start_mariadb(stage):
    """No part of the background: some scenarios have it."""
    data = stage.work / "mariadb"
    stage.start("mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={data}/socket", "--skip-networking", "--user=root", name="mariadb")
    stage.watch(3)


def ask_mariadb(stage):
    """The command that asks it."""
    return f"mariadb --no-defaults --socket={stage.work}/mariadb/socket -u root"


def bank(stage):
    wait_for_postgres(stage)
    stage.start("pgbench", "-h", stage.work / "postgres", "-U", "postgres", "-n", "-R", 20, "-c", 2, "-T", 1000000, "bench",
                name="pgbench", user="postgres", folder=stage.work / "postgres")


def builder(stage):
    stage.start("sh", "-c", f"while sleep {BUILD_EVERY}; do gcc -O2 -c code.c -o code.o; done", name="builder")


def make_builder(stage):
    write_code(stage.work / "code.c", 400)


def make_repository(stage):
    """A big one, of git."""
    folder = stage.work / "repository"
    if (folder / ".git/made").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree("/usr/include", folder, symlinks=True, ignore_dangling_symlinks=True)
    stage.finish("git", "init", folder=folder)
    stage.finish("git", "add", "-A", folder=folder)
    stage.finish("git", "-c", "user.name=lab", "-c", "user.email=lab@localhost", "commit", "-qm", "all", folder=folder)
    (folder / ".git/made").touch()


def write_code(path, functions):
    body = "".join(f"int f{i}(int *a, int n) {{ int s = {i}; for (int i = 0; i < n; i++) {{ s += a[i] * (s ^ {i}); "
                   f"switch (s % 7) {{ case 0: s += a[(i + {i}) % n]; break; case 3: s -= n / (i + 1); break; default: s ^= i; }} }} "
                   f"return s; }}\n" for i in range(functions))
    path.write_text(body)


def nightly(stage):
    compute, read = stage.named("burn", "nightly"), stage.named("stream", "nightly-copy")
    once = (f"timeout {NIGHTLY_LASTS} {compute} {os.cpu_count()} 70 & "
            f"timeout {NIGHTLY_LASTS} {read} read {stage.work}/archive {ARCHIVE // MEBIBYTE} 300 & wait")
    stage.start("sh", "-c", f"while :; do sleep $(({NIGHTLY_EVERY} - $(date +%s) % {NIGHTLY_EVERY})); {once}; done", name="cron")


def tellers(stage):
    book = stage.work / "book"
    stage.start("ledger", book, 1, 300, 20000, "compute", name="teller")
    stage.start("ledger", book, 1, 1000, 30000, "compute", name="clerk", nice=19)


def guard(stage):
    folder = stage.work / "documents"
    folder.mkdir(exist_ok=True)
    stage.start("guard", folder, name="guard")


def solver(stage):
    stage.start("burn", os.cpu_count(), 100, name="solver")


def folding(stage):
    stage.start("burn", os.cpu_count(), 100, name="folding-farm", nice=15)


def shop(stage):
    stage.start("burn", 1, 15, name="shop", group=QUOTA)


def far(stage):
    if "far" not in stage.undo and not stage.make_far():
        print("no network of another machine here: the scenario 'remote' cannot be played", flush=True)
        return
    stage.start("remote", "serve", FAR_ADDRESS, PORT, name="far", before=stage.in_far)
    stage.start("remote", "ask", FAR_ADDRESS, PORT, name="mail", output=open(stage.work / "mail-lateness", "w"))


def office(stage):
    stage.start("edit", stage.work / "archive", stage.work / "office-text", name="office")


def editor(stage):
    with open(lateness_file(stage), "w") as late:
        stage.start("edit", stage.work / "archive", stage.work / "text", name="editor", output=late)


# who (with what must be made once, and the programs it needs); servers first, who only computes last: so all are up sooner
PARTS = (
    (postgres, make_postgres, ("postgres", "pgbench")), (redis, make_redis, ("redis-server",)), (web_server, make_web_server, ("nginx",)),
    (database, None, ()), (backup, make_backup, ()), (camera, None, ()), (application, None, ()), (guard, None, ()), (far, None, ()),
    (tellers, None, ()), (visitors, None, ("nginx", "wrk")), (redis_user, None, ("redis-server",)),
    (bank, None, ("postgres", "pgbench")), (builder, make_builder, ("gcc",)), (nightly, None, ()), (video, make_video, ("ffmpeg",)),
    (office, None, ()), (editor, None, ()), (shop, None, ()), (renderer, None, ()), (encoder, None, ()), (solver, None, ()),
    (folding, None, ()))

PRESSING = {solver, folding}
AT_REST = {postgres, redis, web_server, database, application, guard, far, tellers, office, editor}
HOME = AT_REST - {application} | {redis_user}  # beneath a life: what kinds of slowdowns are played with
BACKGROUNDS = {  # which parts each has
    "normal": {part for part, _, _ in PARTS} - PRESSING,
    "idle": AT_REST,  # servers that are asked nothing, and small work
    "ordinary": {postgres, redis, web_server, office, editor, redis_user, bank},  # a few servers with few clients, for lab/ordinary
    "pressed": {part for part, _, _ in PARTS},  # all CPUs always have more than one to run, of normal work and of niced work
} | {name: HOME for name in lives.LIVES}
LIVED_IN = "lived-in"  # the name of all lives together: cases are dealt among them


def make(stage):
    """What takes long and is made once: files, databases."""
    stage.work.mkdir(parents=True, exist_ok=True)
    for _, make_part, needs in PARTS:
        if make_part and all(map(has_program, needs)):
            make_part(stage)
    for name in lives.LIVES:
        lives.make(stage, name, write_code)


def start(stage, background="normal", seed=1):
    """seed: of what is done when, in a life."""
    for part, _, needs in (each for each in PARTS if each[0] in BACKGROUNDS[background]):
        missing = [program for program in needs if not has_program(program)]
        if missing:
            print(f"not installed: {', '.join(missing)}; normal life goes on without {part.__name__}", flush=True)
        else:
            part(stage)
    if background in lives.LIVES:
        lives.start(stage, background, seed)
    time.sleep(12)  # they open their files and fill their memory
    stage.expect_alive()


def lateness_file(stage):
    return pathlib.Path(stage.work) / "lateness"


def worst_lateness(stage, begin, end):
    """Milliseconds: the median over the seconds of [begin, end] of how late the editor was at worst."""
    seconds = (line.split() for line in lateness_file(stage).read_text().splitlines())
    worst = sorted(float(late) for at, late in seconds if begin <= int(at) <= end)
    return worst[len(worst) // 2] if worst else None
