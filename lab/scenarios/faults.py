"""A program maps and gives back memory without a pause: each page is a fault."""
from resources import CPU, FAULTS

GROUP = "memory"
RESOURCE = "faults"
FEATURES = CPU | FAULTS | {"mem.page_tables"}
CAUSE = "page-faults"
TOLERABLE = {"kernel-work"}


def inject(stage, chance):
    return [stage.start("stress-ng", chance.choice(("--fault", "--mmapfork", "--brk", "--vm-rw")), chance.choice((1, 2)), "--temp-path",
                        stage.work, "--quiet")]
