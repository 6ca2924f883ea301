"""The background: normal life, with innocents who are the biggest in every resource, but always are.

A `top` sorted by whatever names one of these. `edit` is the one who suffers, and says how late it was.
"""
import os
import pathlib
import time

from stage import SHORT

MEBIBYTE = 1 << 20
ARCHIVE = 2048 * MEBIBYTE


def database_size():
    """Megabytes: big, but no burden for the machine."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(1536, memory // 8 // MEBIBYTE)


def start(stage):
    archive = stage.file("archive", ARCHIVE)
    stage.start("burn", os.cpu_count(), 65, name="renderer")
    stage.start("burn", 1, 100, name="encoder", nice=19)
    stage.start("stream", "read", archive, ARCHIVE // MEBIBYTE, 250, name="backup")
    stage.start("stream", "write", stage.work / "footage", 2048, 40, name="camera")
    stage.start("serve", 800, 12000, 64, name="application")
    stage.start("serve", 8, 64, database_size(), name="database", group=SHORT)
    with open(lateness_file(stage), "w") as late:
        stage.start("edit", archive, stage.work / "text", name="editor", output=late)
    time.sleep(6)  # they open their files and fill their memory
    stage.expect_alive()
    return list(stage.actors)


def lateness_file(stage):
    return pathlib.Path(stage.work) / "lateness"


def worst_lateness(stage, begin, end):
    """Milliseconds: the median over the seconds of [begin, end] of how late the editor was at worst."""
    seconds = (line.split() for line in lateness_file(stage).read_text().splitlines())
    worst = sorted(float(late) for at, late in seconds if begin <= int(at) <= end)
    return worst[len(worst) // 2] if worst else None
