"""All modules of Python are compiled to bytecode, with several processes (compileall)."""
import pathlib
import shutil
import sys

from resources import CHILDREN, CPU, READING, WRITING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | READING | WRITING
CAUSE = "cpu-group"
TOLERABLE = {"cpu", "compile", "children"}


def prepare(stage, chance):
    stage.finish("cp", "-r", pathlib.Path(shutil.__file__).parent, stage.work / "modules")


def inject(stage, chance):
    jobs = chance.choice((2, 4))
    return [stage.start("sh", "-c", f"while :; do {sys.executable} -m compileall -q -f -j {jobs} {stage.work}/modules; done",
                        name="installer")]


def restore(stage):
    shutil.rmtree(stage.work / "modules", ignore_errors=True)
