"""A folder is packed, encrypted and counted by a chain of programs, none of which is the biggest of the machine."""
from resources import CPU, READING, SWITCHING, WRITING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | READING | WRITING | SWITCHING | {"wait.peer"}
CAUSE = "cpu"
TOLERABLE = {"backup", "compressing", "cpu-group", "disk-read", "kernel-work", "many-small-reads"}
NEEDS = ("openssl",)


def inject(stage, chance):
    pack = chance.choice(("gzip -1", "gzip -9", "xz -1"))
    return [stage.start("sh", "-c", f"while :; do tar -c /usr/share /usr/lib 2>/dev/null | {pack} | openssl enc -aes-256-ctr -pbkdf2 -k word | wc -c; done",
                        name="archive-job")]
