"""A web server hands requests on to a program with a thread for each, which answers two seconds late."""
import signal

from hangstage import HTTP_CLIENT, HTTP_SERVER, LATE

NEEDS = ("nginx",)
VICTIM = "reader-of-news"
WAITS = {"peer", "remote", "network"}
FRONT, BACK = 18190, 18191
SETTINGS = f"""daemon off; user root; worker_processes 1; pid newsroom.pid; error_log newsroom.log;
events {{ }} http {{ access_log off; server {{ listen 127.0.0.1:{FRONT}; location / {{ proxy_pass http://127.0.0.1:{BACK}; }} }} }}
"""


def prepare(stage):
    stage.start("newsroom", LATE + "threaded = True\n" + HTTP_SERVER, BACK)
    (stage.folder / "newsroom.conf").write_text(SETTINGS)
    stage.run("nginx", "-p", stage.folder, "-c", "newsroom.conf", name="news-front")
    stage.rest(1)
    stage.start("reader-of-news", HTTP_CLIENT, FRONT, "/")


def inject(stage):
    return [stage.signal("newsroom", signal.SIGUSR1)]


def release(stage):
    stage.end("newsroom")
