"""gpg-agent waits for a dialog that its user does not answer; who asks the agent waits, too."""
NEEDS = ("gpg-agent",)
VICTIM = "signer"
WAITS = {"peer"}
DIALOG = """#!/bin/sh
echo OK
while read -r line; do
	[ ! -e {late} ] || sleep 1000
	echo OK
	[ "$line" != BYE ] || exit
done
"""
CLIENT = """import socket, sys, timed
agent = socket.socket(socket.AF_UNIX)
agent.connect(sys.argv[1])
answers = agent.makefile()
answers.readline()
def ask():
    agent.sendall(b"GET_CONFIRMATION sign\\n")
    answers.readline()
timed.repeat(ask)
"""


def prepare(stage):
    home, dialog = stage.folder / "gnupg", stage.folder / "dialog"
    home.mkdir(mode=0o700)
    dialog.write_text(DIALOG.format(late=stage.folder / "unanswered"))
    dialog.chmod(0o755)
    stage.run("gpg-agent", "--homedir", home, "--pinentry-program", dialog, "--daemon", "--", "sleep", 100000, name="gpg-agent")
    stage.rest(1)
    stage.start("signer", CLIENT, home / "S.gpg-agent")


def inject(stage):
    (stage.folder / "unanswered").touch()
    return [stage.program("dialog")]


def release(stage):
    stage.end("gpg-agent")
