"""A server's one worker, to which each request goes through a queue, sleeps: the thread of the client waits for its result."""
import signal

from hangstage import TCP_CLIENT, THREADED_SERVER

VICTIM = "picture-page"
WAITS = {"peer", "lock", "remote", "network"}
PORT = 18195
SERVER = """import queue, signal, threading, time
late = 0
def become_late(*_):
    global late
    late = 1000
signal.signal(signal.SIGUSR1, become_late)
jobs = queue.Queue()
def work():
    while True:
        done = jobs.get()
        time.sleep(late)
        done.put("small")
threading.Thread(target=work, daemon=True).start()
def before_answer():
    done = queue.Queue()
    jobs.put(done)
    done.get()
""" + THREADED_SERVER


def prepare(stage):
    stage.start("thumbnails", SERVER, PORT)
    stage.rest(1)
    stage.start("picture-page", TCP_CLIENT, PORT)


def inject(stage):
    return [stage.signal("thumbnails", signal.SIGUSR1)]


def release(stage):
    stage.end("thumbnails")
