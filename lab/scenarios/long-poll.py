"""A client asks for news and gets its answer when there are some, after half a minute; it waits in poll()."""
from harmless import CAUSE, FEATURES, GROUP, GUILTY, RESOURCE, TOLERABLE
import reported

NEEDS = ("python3", "curl")
PORT = 18451
SERVER = """import http.server, sys, time
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(30)
        self.send_response(204)
        self.end_headers()
    def log_message(self, *_):
        pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""


def inject(stage, chance):
    return reported.ordinary(stage, "long-poll", f"python3 {stage.script('news.py', SERVER)} {PORT} & exec curl -s -m 100 --retry 20 --retry-delay 1 --retry-connrefused http://127.0.0.1:{PORT}/news")
