"""Commands are given over a named pipe, which is opened anew for each: who opens it waits until the other one does, and that one sleeps."""
import os

VICTIM = "remote-control"
WAITS = {"peer"}
PLAYER = """import os, sys, time
while True:
    if os.path.exists(sys.argv[2]):
        time.sleep(1000)
    with open(sys.argv[1]) as commands:
        commands.read()
"""
CLIENT = """import sys, timed
def ask():
    with open(sys.argv[1], "w") as player:
        player.write("louder")
timed.repeat(ask)
"""


def prepare(stage):
    os.mkfifo(stage.folder / "player-commands")
    stage.start("player", PLAYER, stage.folder / "player-commands", stage.folder / "player-sleeps")
    stage.start("remote-control", CLIENT, stage.folder / "player-commands")


def inject(stage):
    (stage.folder / "player-sleeps").touch()
    return [stage.actor("player")]


def release(stage):
    stage.end("player")
