"""A monitoring agent begins to read the memory map of a server again and again (smaps). The server has tens of thousands of mapped pieces and maps one more for each request:
the kernel lets it do that between two readings alone."""
import victims
from resources import CPU, SWITCHING

GROUP = "reported"
RESOURCE = "cpu"
FEATURES = CPU | SWITCHING | {"io.read_calls", "io.read_chars"}
CAUSE = "cpu"
TOLERABLE = {"kernel-work", "cpu-partly", "no-answer", "lock-holder", "lock", "waits-inside"}
NEEDS = ("python3",)
PORT = 18415
SERVER = """import ctypes, mmap, socketserver, sys
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
kept = [mmap.mmap(-1, 4096, prot=mmap.PROT_READ if i % 2 else mmap.PROT_READ | mmap.PROT_WRITE) for i in range(30000)]
class Answer(socketserver.BaseRequestHandler):
    def handle(self):
        while self.request.recv(100):
            mmap.mmap(-1, 1 << 20).close()
            self.request.sendall(b"ok")
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
Server(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""
CLIENT = """import sys, timed
server = timed.connect("127.0.0.1", int(sys.argv[3]))
def ask():
    server.sendall(b"what?")
    server.recv(10)
timed.repeat(ask)
"""


def prepare(stage, chance):
    stage.start("python3", stage.script("mapped-server.py", SERVER), PORT, name="mapped-server")
    stage.watch(2)  # until it listens
    victims.start(stage, "map-client", CLIENT, PORT)
    stage.watch(1)


def inject(stage, chance):
    pid = stage.actor("mapped-server").process.pid
    return [stage.start("sh", "-c", f"for i in 1 2 3; do while :; do cat /proc/{pid}/smaps >/dev/null; done & done; wait", name="agent")]
