"""System V semaphores, as older databases and print systems use them: a program keeps the one that others take for a moment, and sleeps."""
NEEDS = ("perl",)
VICTIM = "spooler"
WAITS = {"lock", "peer"}
KEY = 0x77687973
TAKE = "my $take = pack('s!3', 0, -1, 0); my $give = pack('s!3', 0, 1, 0); my $set = semget(%d, 1, 0600); " % KEY
CLIENT = """import subprocess, sys, timed
server = subprocess.Popen(["perl", "-e", sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def use():
    server.stdin.write(b"use\\n")
    server.stdin.flush()
    server.stdout.readline()
timed.repeat(use)
"""
WORKER = TAKE + "$0 = 'spool-worker'; $| = 1; while (<STDIN>) { semop($set, $take); semop($set, $give); print \"done\\n\" }"
MAKE = "my $set = semget(%d, 1, 01600); semctl($set, 0, 16, 1);" % KEY
KEEPER = TAKE + "semop($set, $take); sleep 1000;"


def prepare(stage):
    stage.finish(stage.find("perl"), "-e", MAKE)
    stage.start("spooler", CLIENT, WORKER)


def inject(stage):
    return [stage.run("perl", "-e", KEEPER, name="filter")]


def release(stage):
    stage.finish(stage.find("perl"), "-e", "semctl(semget(%d, 1, 0600), 0, 0, 0);" % KEY)
