"""A Debian package is put together, of files that hardly compress (dpkg-deb)."""
import shutil

from resources import CPU, MEMORY, READING, WRITING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | MEMORY | READING | WRITING
CAUSE = "compressing"
TOLERABLE = {"cpu", "cpu-group", "updates"}
NEEDS = ("dpkg-deb",)


def inject(stage, chance):
    root = stage.work / "package"
    text = "Package: lab\\nVersion: 1\\nArchitecture: all\\nMaintainer: lab <lab@example.org>\\nDescription: lab"
    make = f"mkdir -p {root}/DEBIAN {root}/usr; printf '{text}\\n' >{root}/DEBIAN/control; cp -r /usr/lib/gcc {root}/usr/"
    return [stage.start("sh", "-c", f"{make}; while :; do dpkg-deb -Zxz -z{chance.choice((6, 9))} --build {root} {stage.work}/new.deb; done", name="packager")]


def restore(stage):
    shutil.rmtree(stage.work / "package", ignore_errors=True)
    (stage.work / "new.deb").unlink(missing_ok=True)
