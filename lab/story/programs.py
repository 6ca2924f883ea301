"""What stands in the way of the services, by the name of the file: nightly-dump.py FILE writes to the disk; report.py FILE has the table's lock most of the time;
number-cruncher.py computes; name-server.py ADDRESS answers names, and half a second later between two SIGUSR1; customers.py ADDRESS asks the front, three at a time."""
import fcntl
import os
import pathlib
import signal
import socket
import sys
import threading
import time


def nightly_dump(file):
    block = os.urandom(1 << 20)
    while True:
        with open(file, "wb", buffering=0) as f:
            for _ in range(256):
                f.write(block)
            os.fsync(f.fileno())


def report(file):
    with open(file, "a") as table:
        while True:
            fcntl.flock(table, fcntl.LOCK_EX)
            time.sleep(.4)
            fcntl.flock(table, fcntl.LOCK_UN)
            time.sleep(.01)


def number_cruncher():
    while True:
        sum(i * i for i in range(100000))


def name_server(address):
    late = []
    signal.signal(signal.SIGUSR1, lambda *_: late.clear() if late else late.append(1))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind((address, 53))
        while True:
            asked, client = s.recvfrom(512)
            end = asked.index(0, 12) + 5
            is_a = asked[end - 4:end - 2] == b"\0\1"
            answer = b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4" + bytes(map(int, os.environ["TABLE"].split("."))) if is_a else b""
            time.sleep(.5 if late else 0)
            s.sendto(asked[:2] + b"\x81\x80\0\1\0" + (b"\1" if is_a else b"\0") + b"\0\0\0\0" + asked[12:end] + answer, client)


def customers(address):
    def ask():
        with socket.create_connection(address.rsplit(":", 1)).makefile("rw") as front:
            while True:
                front.write(f"{os.urandom(8).hex()} 0\n")
                front.flush()
                front.readline()
                time.sleep(.05)

    for _ in range(3):
        threading.Thread(target=ask, daemon=True).start()
    time.sleep(1e6)


{"nightly-dump": nightly_dump, "report": report, "number-cruncher": number_cruncher, "name-server": name_server, "customers": customers}[
    pathlib.Path(sys.argv[0]).stem](*sys.argv[1:])
