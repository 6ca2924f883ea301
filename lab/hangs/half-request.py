"""A web server that serves one connection at a time waits for the rest of a request, which its client does not send: all others wait."""
VICTIM = "price-reader"
WAITS = {"peer", "remote", "network"}
SERVER = """import http.server, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"shop")
    def log_message(self, *_):
        pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""
CLIENT = """import http.client, sys, timed
def ask():
    server = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    server.request("GET", "/")
    server.getresponse().read()
    server.close()
timed.repeat(ask)
"""
HOLDER = """import socket, sys, time
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
server.sendall(b"GET / HT")
time.sleep(1000)
"""
PORT = 18174


def prepare(stage):
    stage.start("price-server", SERVER, PORT)
    stage.rest(1)
    stage.start("price-reader", CLIENT, PORT)


def inject(stage):
    return [stage.start("probe", HOLDER, PORT), stage.actor("price-server")]


def release(stage):
    stage.end("probe")
