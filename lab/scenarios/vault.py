"""A big file is encrypted with a password (gpg), which packs it first."""
from resources import CPU, READING, WRITING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | READING | WRITING
CAUSE = "cpu"
TOLERABLE = {"compressing"}
NEEDS = ("gpg",)


def inject(stage, chance):
    level = chance.choice((1, 6, 9))
    home = f"mkdir -p -m 700 {stage.work}/gnupg"
    once = (f"gpg --homedir {stage.work}/gnupg --batch --yes --pinentry-mode loopback --passphrase lab --compress-level {level} "
            f"--symmetric --output /dev/null {stage.work}/archive")
    return [stage.start("sh", "-c", f"{home}; while :; do {once}; done", name="gpg")]
