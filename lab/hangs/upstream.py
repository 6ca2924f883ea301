"""A web server hands requests on to a program that answers two seconds late."""
import signal

from hangstage import HTTP_CLIENT, HTTP_SERVER, LATE

NEEDS = ("nginx",)
VICTIM = "shopper"
WAITS = {"peer", "remote", "network"}
FRONT, BACK = 18154, 18155
SETTINGS = f"""daemon off; user root; worker_processes 1; pid front.pid; error_log front.log;
events {{ }} http {{ access_log off; server {{ listen 127.0.0.1:{FRONT}; location / {{ proxy_pass http://127.0.0.1:{BACK}; }} }} }}
"""


def prepare(stage):
    stage.start("pricing", LATE + "threaded = False\n" + HTTP_SERVER, BACK)
    (stage.folder / "front.conf").write_text(SETTINGS)
    stage.run("nginx", "-p", stage.folder, "-c", "front.conf", name="front")
    stage.rest(1)
    stage.start("shopper", HTTP_CLIENT, FRONT, "/")


def inject(stage):
    return [stage.signal("pricing", signal.SIGUSR1)]


def release(stage):
    stage.end("pricing")
