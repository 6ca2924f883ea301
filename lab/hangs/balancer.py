"""A load balancer hands one request at a time to its server, and one client asked for something that takes long: the others wait in the balancer."""
from hangstage import HTTP_ONE_VISIT, HTTP_SERVER, HTTP_VISITS

NEEDS = ("haproxy",)
VICTIM = "visitor"
WAITS = {"peer", "remote", "network"}
FRONT, BACK = 18183, 18184
SERVER = """import time
threaded = True
def before_answer(path):
    if path == "/export":
        time.sleep(1000)
""" + HTTP_SERVER
SETTINGS = f"""defaults
  mode http
  timeout client 1000s
  timeout connect 1000s
  timeout server 1000s
  timeout queue 1000s
frontend door
  bind 127.0.0.1:{FRONT}
  default_backend rooms
backend rooms
  server room 127.0.0.1:{BACK} maxconn 1
"""


def prepare(stage):
    stage.start("room", SERVER, BACK)
    (stage.folder / "balancer.cfg").write_text(SETTINGS)
    stage.run("haproxy", "-db", "-f", stage.folder / "balancer.cfg", name="balancer")
    stage.rest(1)
    stage.start("visitor", HTTP_VISITS, FRONT, "/")


def inject(stage):
    return [stage.start("exporter", HTTP_ONE_VISIT, FRONT, "/export"), stage.actor("room")]


def release(stage):
    stage.end("room")
