"""A server runs a command that does not end before it answers."""
import signal

from hangstage import TCP_CLIENT, THREADED_SERVER

VICTIM = "applicant"
WAITS = {"peer", "lock", "none"}
SERVER = """import signal, subprocess
command = None
def become_late(*_):
    global command
    command = ["sleep", "1000"]
def before_answer():
    if command:
        subprocess.run(command)
signal.signal(signal.SIGUSR1, become_late)
""" + THREADED_SERVER
PORT = 18157


def prepare(stage):
    stage.start("converter", SERVER, PORT)
    stage.rest(1)
    stage.start("applicant", TCP_CLIENT, PORT)


def inject(stage):
    return [stage.signal("converter", signal.SIGUSR1)]


def release(stage):
    stage.end("converter")
