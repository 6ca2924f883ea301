#!/usr/bin/env python3
"""One host's part of a request: serve.py NAME SPANS ADDRESS [NEXT | lock:FILE]. It answers lines "TRACE PARENT" one connection after the
other, asks NEXT (ADDRESS:PORT) or works under the file's lock, and writes a span of each to SPANS, as a table."""
import fcntl
import itertools
import os
import socket
import sys
import time

name, spans, address, behind = sys.argv[1:5]
host, port = address.rsplit(":", 1)
numbers = itertools.count(int.from_bytes(os.urandom(5)) << 20)
connection = None


def ask(line):
    global connection
    if connection is None:
        connection = socket.create_connection(behind.rsplit(":", 1), timeout=30).makefile("rw")
    connection.write(line)
    connection.flush()
    connection.readline()


def work(trace, span):
    if not behind.startswith("lock:"):
        return ask(f"{trace} {span:x}\n")
    with open(behind[5:], "a") as table:
        fcntl.flock(table, fcntl.LOCK_EX)
        end = time.monotonic() + 0.002
        while time.monotonic() < end:
            pass
        fcntl.flock(table, fcntl.LOCK_UN)


with open(spans, "w", buffering=1) as out, socket.create_server((host, int(port)), reuse_port=True) as server:
    out.write("trace_id,span_id,parent_id,service,name,kind,start_us,duration_us,host,process_pid\n")
    print("ready", os.getpid(), flush=True)
    while True:
        with server.accept()[0].makefile("rw") as client:
            for line in client:
                trace, parent = line.split()
                span, begin = next(numbers), time.time_ns() // 1000
                work(trace, span)
                took = time.time_ns() // 1000 - begin
                out.write(f"{trace},{span:x},{'' if parent == '0' else parent},{name},answer,server,{begin},{took},{name}.example,{os.getpid()}\n")
                client.write("done\n")
                client.flush()
