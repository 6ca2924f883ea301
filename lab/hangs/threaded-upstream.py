"""A web server hands requests on to a program with a thread for each, which answers two seconds late."""
import signal

NEEDS = ("nginx",)
VICTIM = "reader-of-news"
WAITS = {"peer", "remote", "network"}
SERVER = """import http.server, signal, sys, time
late = 0
def become_late(*_):
    global late
    late = 2
signal.signal(signal.SIGUSR1, become_late)
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(late)
        self.send_response(200)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"news")
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""
CLIENT = """import http.client, sys, timed
server = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
def ask():
    server.request("GET", "/")
    server.getresponse().read()
timed.repeat(ask)
"""
FRONT, BACK = 18190, 18191
SETTINGS = f"""daemon off; user root; worker_processes 1; pid newsroom.pid; error_log newsroom.log;
events {{ }} http {{ access_log off; server {{ listen 127.0.0.1:{FRONT}; location / {{ proxy_pass http://127.0.0.1:{BACK}; }} }} }}
"""


def prepare(stage):
    stage.start("newsroom", SERVER, BACK)
    (stage.folder / "newsroom.conf").write_text(SETTINGS)
    stage.run("nginx", "-p", stage.folder, "-c", "newsroom.conf", name="news-front")
    stage.rest(1)
    stage.start("reader-of-news", CLIENT, FRONT)


def inject(stage):
    return [stage.signal("newsroom", signal.SIGUSR1)]


def release(stage):
    stage.end("newsroom")
