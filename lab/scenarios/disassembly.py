"""A large library is disassembled and searched (objdump, grep)."""
from resources import CPU, READING, SWITCHING, WRITING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | READING | WRITING | SWITCHING | {"wait.peer"}
CAUSE = "cpu-group"
TOLERABLE = {"cpu", "slow-reader"}
NEEDS = ("objdump",)


def inject(stage, chance):
    library = chance.choice(("/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", "/usr/bin/git"))
    return [stage.start("sh", "-c", f"while :; do objdump -d {library} | grep -c call; done", name="reverser")]
