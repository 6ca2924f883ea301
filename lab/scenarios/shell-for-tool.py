"""A tool reads the output of a pipeline of shells that wait for a script, as long as that takes."""
from harmless import CAUSE, FEATURES, GROUP, GUILTY, RESOURCE, TOLERABLE
import reported

TOOL = """import subprocess
shell = subprocess.Popen(["bash", "-c", "for i in $(seq 60); do echo step $i; sleep 3; done | while read -r line; do echo $line; done | tail -n 1"], stdout=subprocess.PIPE)
shell.stdout.read()
"""


def inject(stage, chance):
    return reported.ordinary(stage, "shell-for-tool", f"exec python3 {stage.script('tool-reads.py', TOOL)}")
