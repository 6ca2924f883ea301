"""Big pictures are made smaller and blurred, several at a time (ImageMagick)."""
from resources import CHILDREN, CPU, FAULTS, MEMORY

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | MEMORY | FAULTS
CAUSE = "cpu-group"
TOLERABLE = {"cpu", "children"}
NEEDS = ("convert",)


def make(stage):
    path = stage.work / "picture.jpg"
    if not path.exists():
        stage.finish("convert", "-size", "3000x2000", "plasma:red-blue", path)


def inject(stage, chance):
    change = chance.choice(("-blur 0x6 -resize 40%", "-resize 60% -unsharp 0x3"))
    once = f"convert -limit thread 1 {stage.work}/picture.jpg {change} {stage.work}/picture-$i.small.jpg"
    return [stage.start("sh", "-c", f"for i in $(seq {chance.choice((3, 4))}); do (while :; do {once}; done) & done; wait", name="gallery")]


def restore(stage):
    for path in stage.work.glob("picture-*.small.jpg"):
        path.unlink()
