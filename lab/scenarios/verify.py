"""All installed files are compared with the checksums of their packages (dpkg --verify)."""
from resources import CPU, READING, SWITCHING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | READING | SWITCHING
CAUSE = "cpu"
TOLERABLE = {"disk-read", "kernel-work", "updates"}
NEEDS = ("dpkg",)


def inject(stage, chance):
    at_once = chance.choice((1, 3))
    return [stage.start("sh", "-c", f"while :; do dpkg-query -W -f '${{Package}}\\n' | xargs -P {at_once} -n 80 dpkg --verify; done", name="verifier")]
