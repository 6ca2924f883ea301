"""A video is encoded while another one is watched: the same program, but only one of the two is the culprit."""
from resources import CPU, MEMORY, SWITCHING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | MEMORY | SWITCHING | {"threads.count"}
CAUSE = "video"
TOLERABLE = set()
NEEDS = ("ffmpeg",)


def inject(stage, chance):
    return [stage.start("ffmpeg", "-nostdin", "-y", "-stream_loop", -1, "-i", stage.work / "video.mkv", "-c:v", "libx264", "-preset",
                        chance.choice(("ultrafast", "medium", "slow")), "-threads", chance.choice((1, 2, 4)), "-f", "null", "-", name="encode")]
