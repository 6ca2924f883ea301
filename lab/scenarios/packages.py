"""Packages with thousands of small files are unpacked: by dpkg or by npm."""
import shutil
import subprocess

from resources import CHILDREN, CPU, FAULTS, WRITING

GROUP = "real"
RESOURCE = {"npm": "cpu", "dpkg": "io"}
FEATURES = CPU | WRITING | FAULTS | CHILDREN
CAUSE = {"npm": "dependencies", "dpkg": "updates"}
TOLERABLE = {"dependencies", "updates"}
NEEDS = ("dpkg", "npm")
CONTROL = "Package: lab-files\nVersion: 1\nArchitecture: all\nMaintainer: lab <lab@localhost>\nDescription: many small files\n"
PROJECT = '{"name": "project", "version": "1.0.0", "dependencies": {"many": "file:many.tgz"}}\n'


def make(stage):
    folder = stage.work / "packages"
    if (folder / "npm/package-lock.json").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    make_files(folder / "deb/usr/share/lab-files", 4000)
    (folder / "deb/DEBIAN").mkdir()
    (folder / "deb/DEBIAN/control").write_text(CONTROL)
    quietly = dict(check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run(["dpkg-deb", "-b", folder / "deb", folder / "files.deb"], **quietly)
    for part in ("info", "updates", "triggers"):
        (folder / "root/var/lib/dpkg" / part).mkdir(parents=True)
    (folder / "root/var/lib/dpkg/status").touch()
    make_files(folder / "npm/package", 4000)
    (folder / "npm/package/package.json").write_text('{"name": "many", "version": "1.0.0"}\n')
    subprocess.run(["tar", "-C", folder / "npm", "-czf", folder / "npm/many.tgz", "package"], **quietly)
    shutil.rmtree(folder / "npm/package")
    (folder / "npm/package.json").write_text(PROJECT)
    subprocess.run(["npm", "install", *npm_options(folder)], cwd=folder / "npm", **quietly)


def npm_options(folder):
    return "--offline", "--no-audit", "--no-fund", f"--cache={folder}/npm-cache"


def make_files(folder, n):
    for i in range(n):
        path = folder / str(i // 100) / f"{i}.js"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"module.exports = {i};\n" * (i % 200))


def inject(stage, chance):
    folder = stage.work / "packages"
    if chance.random() < 0.5:
        return [stage.start("sh", "-c", f"while :; do npm ci {' '.join(npm_options(folder))}; done", name="npm", folder=folder / "npm")]
    return [stage.start("sh", "-c", f"while :; do dpkg --root={folder}/root --force-all --unpack {folder}/files.deb; done", name="dpkg")]
