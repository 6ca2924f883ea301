"""Small pictures of every film are made: one short-lived ffmpeg after the other, while another one plays a video."""
from resources import CHILDREN, CPU, FAULTS, MEMORY, READING, SWITCHING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | CHILDREN | FAULTS | MEMORY | READING | SWITCHING | {"threads.count"}
CAUSE = "video"
TOLERABLE = {"children", "cpu", "cpu-group", "many-starts"}
NEEDS = ("ffmpeg",)


def inject(stage, chance):
    once = f"ffmpeg -nostdin -loglevel error -ss {chance.choice((1, 6))} -i {stage.work}/video.mkv -frames:v 5 -vf scale=320:-1 -f null -"
    jobs = chance.choice((2, 4))
    return [stage.start("sh", "-c", f"while :; do seq {jobs * 4} | xargs -P {jobs} -I% {once}; done", name="gallery")]
