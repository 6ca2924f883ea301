"""The server of a file system that is mounted over SSH is stopped: who opens a file waits for sshfs, and that for the server."""
import signal

NEEDS = ("sshfs", "/usr/lib/openssh/sftp-server")
VICTIM = "gallery"
WAITS = {"peer", "disk"}
CLIENT = """import sys, timed
def look():
    with open(sys.argv[1]) as picture:
        picture.read()
timed.repeat(look)
"""


def prepare(stage):
    place = stage.mount_over_ssh("pictures", "sunset", "red")
    stage.rest(1)
    stage.start("gallery", CLIENT, place / "sunset")


def inject(stage):
    return [stage.signal("pictures-server", signal.SIGSTOP)]


def release(stage):
    stage.end("pictures-server")
