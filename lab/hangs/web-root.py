"""A web server reads its pages from a file system that is mounted over SSH, whose server is stopped: its visitors wait."""
import os
import signal

NEEDS = ("nginx", "sshfs", "/usr/lib/openssh/sftp-server")
VICTIM = "surfer"
WAITS = {"peer", "disk", "remote", "network"}
PORT = 18185
CLIENT = """import http.client, sys, timed
server = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
def ask():
    server.request("GET", "/news")
    server.getresponse().read()
timed.repeat(ask)
"""
MOUNT = "exec sshfs -f -o passive,direct_io,dir_cache=no,attr_timeout=0,entry_timeout=0 :{shared} {place} >{up} <{down}"
FRONT = """daemon off; user root; worker_processes 1; pid news.pid; error_log news.log;
events {{ }} http {{ access_log off; server {{ listen 127.0.0.1:{port}; root {place}; }} }}
"""


def prepare(stage):
    shared, up, down = stage.folder / "web-pages", stage.folder / "web-up", stage.folder / "web-down"
    shared.mkdir()
    (shared / "news").write_text("rain")
    os.mkfifo(up)
    os.mkfifo(down)
    place = stage.mount_point("web-root")
    stage.run("sh", "-c", f"exec /usr/lib/openssh/sftp-server <{up} >{down}", name="page-store")
    stage.run("sh", "-c", MOUNT.format(shared=shared, place=place, up=up, down=down), name="page-mount")
    (stage.folder / "news.conf").write_text(FRONT.format(port=PORT, place=place))
    stage.rest(1)
    stage.run("nginx", "-p", stage.folder, "-c", "news.conf", name="news-server")
    stage.rest(1)
    stage.start("surfer", CLIENT, PORT)


def inject(stage):
    return [stage.signal("page-store", signal.SIGSTOP)]


def release(stage):
    stage.end("page-store")
