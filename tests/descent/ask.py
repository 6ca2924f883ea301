#!/usr/bin/env python3
"""Asks the front for as many seconds, one request after the other: ask.py ADDRESS:PORT SECONDS"""
import os
import socket
import sys
import time

front = socket.create_connection(sys.argv[1].rsplit(":", 1), timeout=30).makefile("rw")
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    front.write(f"{os.urandom(8).hex()} 0\n")
    front.flush()
    front.readline()
    time.sleep(0.005)
