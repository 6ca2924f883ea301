"""A file server (rsync) starts a script before each transfer, and the script does not end."""
NEEDS = ("rsync",)
VICTIM = "rsync"  # the client starts one for each request
WAITS = {"peer", "remote", "network"}
PORT = 18213
SETTINGS = """port = {port}
address = 127.0.0.1
use chroot = no
uid = 0
gid = 0
pid file = {folder}/file-server.pid
lock file = {folder}/file-server.lock
log file = {folder}/file-server.log
[photos]
path = {folder}/photos-to-copy
pre-xfer exec = {folder}/before-copy
"""
SCRIPT = """#!/bin/sh
[ ! -e {folder}/before-copy.wait ] || sleep 1000
"""
CLIENT = """import subprocess, sys, timed
timed.repeat_command(lambda: subprocess.run(["rsync", f"rsync://127.0.0.1:{sys.argv[1]}/photos/"], stdout=subprocess.DEVNULL))
"""


def prepare(stage):
    words = {"port": PORT, "folder": stage.folder}
    (stage.folder / "photos-to-copy").mkdir()
    (stage.folder / "file-server.conf").write_text(SETTINGS.format(**words))
    script = stage.folder / "before-copy"
    script.write_text(SCRIPT.format(**words))
    script.chmod(0o755)
    stage.run("rsync", "--daemon", "--no-detach", f"--config={stage.folder}/file-server.conf", name="file-server")
    stage.rest(1)
    stage.start("photo-frame", CLIENT, PORT)


def inject(stage):
    (stage.folder / "before-copy.wait").touch()
    return [stage.actor("file-server")]


def release(stage):
    stage.end("file-server")
