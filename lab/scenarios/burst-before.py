"""Two programs begin at once: one reads two gigabytes in a moment, and rests; the other computes on, and is why it is slow."""
from resources import CPU, SWITCHING

GROUP = "other"
RESOURCE = "cpu"
FEATURES = CPU | SWITCHING
CAUSE = "cpu"
TOLERABLE = {"cpu-group", "cpu-shared"}


def inject(stage, chance):
    stage.start("sh", "-c", f"dd if={stage.work}/archive of=/dev/null bs=1M iflag=direct; sleep 1000; :", name="prefetch")
    return [stage.start("openssl", "speed", "-seconds", 60, "-multi", chance.choice((2, 3)), "sha256")]
