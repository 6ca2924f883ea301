"""A program has the X server for itself (GrabServer) and sleeps: all windows stand still."""
NEEDS = ("Xvfb",)
VICTIM = "window"
WAITS = {"peer", "lock"}
DISPLAY = 187
X11 = """import socket, struct, sys
def connect():
    screen = socket.socket(socket.AF_UNIX)
    screen.connect("\\0/tmp/.X11-unix/X" + sys.argv[1])
    screen.sendall(struct.pack("<BxHHHHxx", ord("l"), 11, 0, 0, 0))
    _, _, _, _, words = struct.unpack("<BBHHH", read(screen, 8))
    read(screen, 4 * words)
    return screen
def read(screen, n):
    data = b""
    while len(data) < n:
        data += screen.recv(n - len(data))
    return data
def focus(screen):
    screen.sendall(struct.pack("<BxH", 43, 1))
    read(screen, 32)
"""
CLIENT = X11 + """
import timed
screen = connect()
timed.repeat(lambda: focus(screen))
"""
GRABBER = X11 + """
import time
screen = connect()
screen.sendall(struct.pack("<BxH", 36, 1))
focus(screen)
time.sleep(1000)
"""


def prepare(stage):
    stage.run("Xvfb", f":{DISPLAY}", "-screen", "0", "320x200x24", "-nolisten", "tcp", name="screen")
    stage.rest(2)
    stage.start("window", CLIENT, DISPLAY)


def inject(stage):
    return [stage.start("screen-shot", GRABBER, DISPLAY)]


def release(stage):
    stage.end("screen-shot")
