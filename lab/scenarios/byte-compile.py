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


def inject(stage, chance):
    jobs, library = chance.choice((2, 4)), pathlib.Path(shutil.__file__).parent
    return [stage.start("sh", "-c", f"cp -r {library} {stage.work}/modules; while :; do {sys.executable} -m compileall -q -f -j {jobs} {stage.work}/modules; done",
                        name="installer")]


def restore(stage):
    shutil.rmtree(stage.work / "modules", ignore_errors=True)
