"""Sixty connections to a web server are kept, and asked nothing."""
import life
import reported

GROUP = "harmless"
RESOURCE = "other"
GUILTY = "nobody"
FEATURES = set()
CAUSE = "nothing"
TOLERABLE = {"cpu-shared", "disk-shared"}
NEEDS = ("nginx",)


def inject(stage, chance):
    return reported.ordinary(stage, "open-connections", f"exec python3 -c 'import socket, time; kept = [socket.create_connection((\"127.0.0.1\", {life.PORT})) for i in range(60)]; time.sleep(300)'")
