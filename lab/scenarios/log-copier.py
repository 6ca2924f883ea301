"""A server logs each request to a pipe, under a lock that its threads share. The program that copies the log syncs it to a volume that another one fills: the pipe gets
full, one thread waits for it, all others for the lock, and each client for an answer."""
from pathlib import Path

import reported
import victims
from resources import CPU, SWITCHING, WRITING

GROUP = "reported"
RESOURCE = "io"
FEATURES = CPU | SWITCHING | WRITING
CAUSE = "disk-write"
TOLERABLE = {"synced-writes", "written-faster-than-disk", "disk-both", "slow-reader", "no-answer"}
NEEDS = ("python3",)
PORT = 18414
RATE = 6 << 20
# the log of a request has 4 kB: 16 of them fill the pipe
SERVER = """import http.server, os, sys, threading
lock = threading.Lock()
class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    def do_GET(self):
        with lock:
            os.write(1, b"x" * 4095 + b"\\n")
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""
COPIER = """import os, sys
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
while data := os.read(0, 4096):
    os.write(log, data)
    os.fsync(log)
"""


def prepare(stage, chance):
    stage.mount_image(Path(stage.file("volume", 3 << 30)))
    stage.slow_volume(RATE)
    server, copier = stage.script("shop-server.py", SERVER), stage.script("copier.py", COPIER)
    stage.start("sh", "-c", f"python3 {server} {PORT} | python3 {copier} {stage.image_folder}/log", name="shop-server")
    stage.watch(1)  # until it listens
    victims.start(stage, "shop-visitor", reported.KEPT_CLIENT, "127.0.0.1", PORT, "/")
    stage.watch(1)


def inject(stage, chance):
    return [stage.start("sh", "-c", f"while :; do dd if=/dev/zero of={stage.image_folder}/dump bs=1M count=300 conv=fsync; done", name="dumper")]


def restore(stage):
    stage.unmount_image()
