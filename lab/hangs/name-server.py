"""A name server answers two seconds late: who looks up names waits."""
import signal

VICTIM = "browser-like"
WAITS = {"peer", "remote", "network"}
SERVER = """import signal, socket, sys, time
late = 0
def become_late(*_):
    global late
    late = 2
signal.signal(signal.SIGUSR1, become_late)
door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
door.bind(("127.0.0.1", int(sys.argv[1])))
while True:
    query, who = door.recvfrom(512)
    time.sleep(late)
    door.sendto(query[:2] + bytes([0x81, 0x80]) + query[4:6] + bytes([0, 1]) + query[8:] + bytes([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 127, 0, 0, 1]), who)
"""
CLIENT = """import socket, sys, timed
def look_up():
    asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    asked.connect(("127.0.0.1", int(sys.argv[1])))
    asked.send(bytes([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 4]) + b"shop" + bytes([4]) + b"test" + bytes([0, 0, 1, 0, 1]))
    asked.recv(512)
    asked.close()
timed.repeat(look_up)
"""
PORT = 18153


def prepare(stage):
    stage.start("name-server", SERVER, PORT)
    stage.rest(1)
    stage.start("browser-like", CLIENT, PORT)


def inject(stage):
    return [stage.signal("name-server", signal.SIGUSR1)]


def release(stage):
    stage.end("name-server")
