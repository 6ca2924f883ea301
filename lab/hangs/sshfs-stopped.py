"""The server of a file system that is mounted over SSH is stopped: who opens a file waits for sshfs, and that for the server."""
import os
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
MOUNT = "exec sshfs -f -o passive,direct_io,dir_cache=no,attr_timeout=0,entry_timeout=0 :{shared} {place} >{up} <{down}"


def prepare(stage):
    shared, up, down = stage.folder / "pictures", stage.folder / "up", stage.folder / "down"
    shared.mkdir()
    (shared / "sunset").write_text("red")
    os.mkfifo(up)
    os.mkfifo(down)
    place = stage.mount_point("album")
    stage.run("sh", "-c", f"exec /usr/lib/openssh/sftp-server <{up} >{down}", name="sftp-server")
    stage.run("sh", "-c", MOUNT.format(shared=shared, place=place, up=up, down=down), name="sshfs")
    stage.rest(1)
    stage.start("gallery", CLIENT, place / "sunset")


def inject(stage):
    return [stage.signal("sftp-server", signal.SIGSTOP)]


def release(stage):
    stage.end("sftp-server")
