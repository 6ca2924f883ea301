"""One thread of a server matches a bad expression and keeps the interpreter's lock: no other thread answers."""
import signal

from hangstage import TCP_CLIENT, THREADED_SERVER

VICTIM = "reader"
WAITS = {"peer", "lock", "cpu", "none"}
SERVER = """import re, signal, threading
def compute():
    asked.wait()
    re.match("(a+)+b", "a" * 40)
def before_answer():
    pass
asked = threading.Event()
threading.Thread(target=compute, daemon=True).start()
signal.signal(signal.SIGUSR1, lambda *_: asked.set())
""" + THREADED_SERVER
PORT = 18156


def prepare(stage):
    stage.start("catalogue", SERVER, PORT)
    stage.rest(1)
    stage.start("reader", TCP_CLIENT, PORT)


def inject(stage):
    return [stage.signal("catalogue", signal.SIGUSR1)]


def release(stage):
    stage.end("catalogue")
