"""A program that has gone wrong logs without a pause, through a pipe, into a file."""
from resources import CPU, SWITCHING, WRITING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | SWITCHING | WRITING | {"io.read_calls", "io.read_chars", "wait.peer"}
CAUSE = "cpu"
TOLERABLE = {"children", "cpu-group", "disk-write", "kernel-work", "many-starts", "written-faster-than-disk"}
LOG = "flood.log"


def inject(stage, chance):
    line = "2026-11-21 error: connection lost, trying again"
    how = chance.choice((f"yes '{line}' | tee {LOG} | head -c 3G | grep -c lost", f"yes '{line}' | head -c 1G | sed -u s/lost/gone/ >{LOG}",
                         f"yes '{line}' | while read -r said; do echo \"$said\"; done >{LOG}"))
    return [stage.start("sh", "-c", f"while :; do {how}; done", name="broken")]


def restore(stage):
    (stage.work / LOG).unlink(missing_ok=True)
