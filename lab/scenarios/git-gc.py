"""git packs a big repository anew."""
import shutil
import subprocess

from resources import CPU, MEMORY, READING, WRITING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | READING | WRITING | MEMORY
CAUSE = "version-control"
TOLERABLE = set()
NEEDS = ("git",)


def make(stage):
    folder = stage.work / "repository"
    if (folder / ".git/made").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree("/usr/include", folder, symlinks=True, ignore_dangling_symlinks=True)
    run = dict(cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run(["git", "init"], **run)
    subprocess.run(["git", "add", "-A"], **run)
    subprocess.run(["git", "-c", "user.name=lab", "-c", "user.email=lab@localhost", "commit", "-qm", "all"], **run)
    (folder / ".git/made").touch()


def inject(stage, chance):
    threads = chance.choice((1, 2, 4))
    return [stage.start("sh", "-c", f"while :; do git -c pack.threads={threads} gc --aggressive --prune=now; done", name="git",
                        folder=stage.work / "repository")]
