"""A web server reads its pages from a file system that is mounted over SSH, whose server is stopped: its visitors wait."""
import signal

from hangstage import HTTP_CLIENT

NEEDS = ("nginx", "sshfs", "/usr/lib/openssh/sftp-server")
VICTIM = "surfer"
WAITS = {"peer", "disk", "remote", "network"}
PORT = 18185
FRONT = """daemon off; user root; worker_processes 1; pid news.pid; error_log news.log;
events {{ }} http {{ access_log off; server {{ listen 127.0.0.1:{port}; root {place}; }} }}
"""


def prepare(stage):
    place = stage.mount_over_ssh("web-root", "news", "rain")
    (stage.folder / "news.conf").write_text(FRONT.format(port=PORT, place=place))
    stage.rest(1)
    stage.run("nginx", "-p", stage.folder, "-c", "news.conf", name="news-server")
    stage.rest(1)
    stage.start("surfer", HTTP_CLIENT, PORT, "/news")


def inject(stage):
    return [stage.signal("web-root-server", signal.SIGSTOP)]


def release(stage):
    stage.end("web-root-server")
