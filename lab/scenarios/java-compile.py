"""A Java program of many classes is compiled again and again (javac)."""
import shutil

from resources import CHILDREN, CPU, FAULTS, MEMORY, SWITCHING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | SWITCHING | MEMORY | FAULTS | {"threads.count"}
CAUSE = "compile"
TOLERABLE = {"cpu", "cpu-group", "children", "threads"}
NEEDS = ("javac",)


def inject(stage, chance):
    classes = chance.choice((200, 600))
    make = f"mkdir -p {stage.work}/java; for i in $(seq {classes}); do echo \"class C$i {{ int f(int x) {{ return x * $i; }} }}\" >{stage.work}/java/C$i.java; done"
    return [stage.start("sh", "-c", f"{make}; while :; do javac -d {stage.work}/java/out {stage.work}/java/*.java; done", name="java-build")]


def restore(stage):
    shutil.rmtree(stage.work / "java", ignore_errors=True)
