"""Libraries are compiled and tested by one make, with short tests in between: nothing of it lives long."""
from resources import CHILDREN, CPU, FAULTS, MEMORY, SWITCHING, WRITING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | FAULTS | MEMORY | SWITCHING | WRITING
CAUSE = "compile"
TOLERABLE = {"children", "cpu", "cpu-group", "many-starts"}
NEEDS = ("make", "gcc", "python3")
MAKEFILE = """all: $(foreach i,1 2 3 4 5 6 7 8,t$i)
t%:
\t@echo 'int main(void){return '$*'-'$*';}' >u$*.c; gcc -O2 -o u$* u$*.c && ./u$* && python3 -c 'import json,re,ssl; print(json.dumps(list(range(9999))))' | md5sum >u$*.sum
.PHONY: all
"""


def inject(stage, chance):
    folder = stage.work / "checks"
    folder.mkdir(exist_ok=True)
    (folder / "Makefile").write_text(MAKEFILE)
    return [stage.start("sh", "-c", f"while :; do make -s -j{chance.choice((2, 4, 8))} all; done", name="checks", folder=folder)]
