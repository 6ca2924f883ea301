"""A user compiles a big project with several compilers at once; one small file is compiled now and then anyway."""
import life
from resources import CHILDREN, CPU, FAULTS, MEMORY, SWITCHING, WRITING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | FAULTS | MEMORY | CHILDREN | SWITCHING | WRITING
CAUSE = "compile"
TOLERABLE = set()
NEEDS = ("gcc", "make")


def make(stage):
    folder = stage.work / "project"
    folder.mkdir(exist_ok=True)
    life.write_code(folder / "part.c", 600)
    parts = " ".join(f"part{i}.o" for i in range(400))
    # without a rule of its own the Makefile itself would be made, from a Makefile.o, and by one compiler alone
    (folder / "Makefile").write_text(f"all: {parts}\nMakefile: ;\n%.o:\n\tgcc -O2 -c part.c -o $@\n")


def inject(stage, chance):
    return [stage.start("make", "-B", f"-j{chance.choice((2, 4, 8))}", folder=stage.work / "project")]


def restore(stage):
    for path in (stage.work / "project").glob("*.o"):
        path.unlink()
