"""Sixty connections to a web server are kept, and asked nothing."""
from harmless import CAUSE, FEATURES, GROUP, GUILTY, RESOURCE, TOLERABLE
import life
import reported

NEEDS = ("nginx",)


def inject(stage, chance):
    return reported.ordinary(stage, "open-connections", f"exec python3 -c 'import socket, time; kept = [socket.create_connection((\"127.0.0.1\", {life.PORT})) for i in range(60)]; time.sleep(300)'")
