"""A user logs in right after the machine has started: a dozen programs begin at once, and one of them is why it takes long.
Nothing was recorded before."""
from resources import CPU, FAULTS, MEMORY, READING

GROUP = "other"
RESOURCE = "cpu"
FEATURES = CPU | FAULTS | MEMORY | READING
CAUSE = {"stress-ng": "cpu", "plugins": "children"}
TOLERABLE = {"children", "cpu", "cpu-group", "many-starts"}
WITHOUT_PAST = True
SESSION = (("panel", 1, 4), ("desktop", 2, 5), ("tray", 1, 2), ("clock", 1, 1), ("chat", 3, 4), ("sync", 1, 5), ("sound", 1, 2))


def inject(stage, chance):
    for name, threads, percent in SESSION:
        stage.start("burn", threads, percent, name=name)
    stage.start("serve", 40, 300, 120, name="browser")
    if chance.random() < 0.5:
        return [stage.start("stress-ng", "--cpu", 3, "--cpu-method", "fft", "--quiet")]
    return [stage.start("sh", "-c", "while :; do python3 -c 'import json, http.server, email, asyncio, unittest'; done", name="plugins")]
