"""A load balancer hands one request at a time to its server, and one client asked for something that takes long: the others wait in the balancer."""
NEEDS = ("haproxy",)
VICTIM = "visitor"
WAITS = {"peer", "remote", "network"}
FRONT, BACK = 18183, 18184
SERVER = """import http.server, sys, time
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/export":
            time.sleep(1000)
        self.send_response(200)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"shop")
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""
CLIENT = """import http.client, sys, timed
def ask():
    server = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    server.request("GET", sys.argv[2])
    server.getresponse().read()
    server.close()
"""
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
    stage.start("visitor", CLIENT + "timed.repeat(ask)\n", FRONT, "/")


def inject(stage):
    return [stage.start("exporter", CLIENT.replace(", timed", "") + "ask()\n", FRONT, "/export"), stage.actor("room")]


def release(stage):
    stage.end("room")
