"""A program computed for some seconds and has ended when the button is pressed: whoever sees only what runs now sees nothing."""
from resources import CPU, SWITCHING

GROUP = "other"
RESOURCE = "cpu"
FEATURES = CPU | SWITCHING | {"children.short", "children.cpu"}
CAUSE = "cpu"
TOLERABLE = {"cpu-group", "cpu-shared"}
NEEDS = ("openssl",)
LASTS = 5  # seconds
PRESS = (LASTS + 2, LASTS + 3.5)


def inject(stage, chance):
    return [stage.start("sh", "-c", f"timeout {LASTS} openssl speed -seconds 60 -multi {chance.choice((3, 5))} sha256; true", name="statement")]
