"""All libraries of a language are compiled to bytecode, by as many processes as there are CPUs or more."""
import shutil

from resources import CHILDREN, CPU, MEMORY, READING, SWITCHING, WRITING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | MEMORY | READING | SWITCHING | WRITING
CAUSE = "cpu"
TOLERABLE = {"children", "compile", "cpu-group"}
NEEDS = ("python3",)


def inject(stage, chance):
    folder = stage.work / "bytecode"
    command = f"PYTHONPYCACHEPREFIX={folder} python3 -m compileall -q -f -j {chance.choice((1, 3))} /usr/lib/python3"
    return [stage.start("sh", "-c", f"while :; do {command}; done", name="installer")]


def restore(stage):
    shutil.rmtree(stage.work / "bytecode", ignore_errors=True)
