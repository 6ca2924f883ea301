"""A hook of a repository does not end: who pushes to it waits."""
NEEDS = ("git",)
VICTIM = "git"  # the client starts one for each push
WAITS = {"peer", "lock"}
CLIENT = """import subprocess, sys, timed
def push():
    subprocess.run(["git", "-C", sys.argv[1], "commit", "-q", "--allow-empty", "-m", "more"])
    subprocess.run(["git", "-C", sys.argv[1], "push", "-q", "origin", "HEAD:main"], stderr=subprocess.DEVNULL)
timed.repeat_command(push)
"""
HOOK = """#!/bin/sh
test ! -e {folder}/check-everything || sleep 1000
"""


class Hook:
    def __init__(self, actor):
        self.actor = actor

    def pids(self):
        return [pid for pid in self.actor.pids() if pid != self.actor.process.pid and b"git" != _program(pid)]


def _program(pid):
    try:
        with open(f"/proc/{pid}/comm", "rb") as file:
            return file.read().strip()
    except OSError:
        return b"git"


def prepare(stage):
    shared, own = stage.folder / "shared.git", stage.folder / "work-tree"
    stage.finish("git", "init", "-q", "--bare", shared)
    (shared / "hooks/pre-receive").write_text(HOOK.format(folder=stage.folder))
    (shared / "hooks/pre-receive").chmod(0o755)
    stage.finish("git", "init", "-q", own)
    stage.finish("git", "-C", own, "config", "user.email", "lab@example.org")
    stage.finish("git", "-C", own, "config", "user.name", "lab")
    stage.finish("git", "-C", own, "remote", "add", "origin", shared)
    stage.start("committer", CLIENT, own)


def inject(stage):
    (stage.folder / "check-everything").touch()
    return [Hook(stage.actor("committer"))]
