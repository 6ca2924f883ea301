"""One service of three: service.py ADDRESS SPANS [NEXT]. Its role is the name of the file: front.py asks the next one; shop.py looks its name up, takes one of
four connections and asks; table.py writes a line under the table's lock, and has it on the disk before it answers. Each request (a line "TRACE PARENT") becomes a span
in SPANS, a table. Signals begin and end two troubles of shop.py: SIGUSR1 its garbage is collected in each request, SIGUSR2 others take its connections."""
import fcntl
import gc
import itertools
import os
import pathlib
import queue
import signal
import socket
import sys
import threading
import time

ROLE = pathlib.Path(sys.argv[0]).stem
address, spans, behind = sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None
numbers = itertools.count(int.from_bytes(os.urandom(5), "big") << 20)
pool, garbage, own = queue.Queue(), [], threading.local()
taken, collecting = threading.Event(), threading.Event()
out, lock = open(spans, "a", buffering=1), threading.Lock()
table = open(f"{spans}.table", "a", buffering=1) if ROLE == "table" else None


def connect(to):
    return socket.create_connection(to, timeout=30).makefile("rw")


def ask(connection, line):
    connection.write(line)
    connection.flush()
    connection.readline()


def compute(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def front(line):
    if not hasattr(own, "next"):
        own.next = connect(behind.rsplit(":", 1))
    ask(own.next, line)


def shop(line):
    name, port = behind.rsplit(":", 1)
    where = socket.getaddrinfo(name, port, socket.AF_INET, socket.SOCK_STREAM)[0][4]
    compute(.003)
    if collecting.is_set():
        collect_garbage()
    connection = pool.get()
    try:
        ask(connection or (connection := connect(where)), line)
    finally:
        pool.put(connection)


def collect_garbage():
    garbage[:] = [[] for _ in range(600000)]
    gc.collect()


def table_write(line):
    fcntl.flock(table, fcntl.LOCK_EX)
    try:
        table.write(line * 40)
        os.fsync(table.fileno())
    finally:
        fcntl.flock(table, fcntl.LOCK_UN)


def export_all():
    """Others that use the pool: each has a connection for a second, and does nothing with it."""
    while True:
        taken.wait()
        connection = pool.get()
        time.sleep(1)
        pool.put(connection)
        time.sleep(.02)


def serve(client):
    with client.makefile("rw") as lines:
        for line in lines:
            trace, parent = line.split()
            span, begin = next(numbers), time.time_ns() // 1000
            {"front": front, "shop": shop, "table": table_write}[ROLE](f"{trace} {span:x}\n")
            took = time.time_ns() // 1000 - begin
            with lock:
                out.write(f"{trace},{span:x},{'' if parent == '0' else parent},{ROLE},answer,server,{begin},{took},{ROLE}.example,{os.getpid()}\n")
            lines.write("done\n")
            lines.flush()


def toggle(event):
    return lambda *_: event.clear() if event.is_set() else event.set()


out.write("trace_id,span_id,parent_id,service,name,kind,start_us,duration_us,host,process_pid\n")
if ROLE == "shop":
    signal.signal(signal.SIGUSR1, toggle(collecting))
    signal.signal(signal.SIGUSR2, toggle(taken))
    for _ in range(4):
        pool.put(None)
        threading.Thread(target=export_all, name="exporter", daemon=True).start()
gc.disable()
host, port = address.rsplit(":", 1)
with socket.create_server((host, int(port))) as server:
    print("ready", os.getpid(), flush=True)
    while True:
        threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
