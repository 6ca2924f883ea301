"""A page of a PHP site asks another machine, which begins to answer after two seconds. Six clients ask for that page: the three workers are used up, and who
asks for any other page waits for one."""
import pathlib

import reported
import victims
from resources import CPU, SWITCHING
from stage import FAR_ADDRESS

GROUP = "reported"
RESOURCE = "delay"
FEATURES = CPU | SWITCHING | {"wait.peer", "wait.network", "wait.other", "wait.lock", "net.rx_calls", "net.tx_calls", "handles.sockets"}
CAUSE = "remote"
TOLERABLE = {"no-answer", "server-not-accepting", "waits-inside"}
PHP = min((path.name for path in pathlib.Path("/usr/sbin").glob("php-fpm*")), default="php-fpm")
NEEDS = (PHP, "nginx")
PORT, BACK = 18405, 18406
POOL = """[global]
daemonize = no
error_log = {folder}/pool.log
[www]
user = root
listen = {folder}/pool.socket
pm = static
pm.max_children = 3
"""
FETCHES = "<?php echo file_get_contents('http://{address}:{port}/'); ?>"
SERVER = """import http.server, os, sys, time
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(2.2 if os.path.exists(sys.argv[3]) else 0.01)
        self.send_response(200)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"rate")
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Answer).serve_forever()
"""
VISITOR = """import sys, time, urllib.request
while True:
    try:
        urllib.request.urlopen(sys.argv[1], timeout=30).read()
    except OSError:
        pass
    time.sleep(0.3)
"""


def prepare(stage, chance):
    folder = stage.work / "php"
    fast = f"location / {{ fastcgi_pass unix:{folder}/pool.socket; fastcgi_read_timeout 100; fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name; fastcgi_param REQUEST_METHOD $request_method; }}"
    reported.nginx(stage, folder, f"127.0.0.1:{PORT}", fast)
    (folder / "slow").unlink(missing_ok=True)
    (folder / "rates.php").write_text(FETCHES.replace("{address}", FAR_ADDRESS).replace("{port}", str(BACK)))
    (folder / "page.php").write_text("<?php echo 'page'; ?>")
    (folder / "pool.conf").write_text(POOL.replace("{folder}", str(folder)))
    stage.start("python3", stage.script("rates.py", SERVER), FAR_ADDRESS, BACK, folder / "slow", name="rates", before=stage.in_far)
    stage.start(PHP, "-R", "-n", "-y", folder / "pool.conf", name="php")
    stage.start("nginx", "-p", folder, "-c", "nginx.conf", name="front")
    stage.watch(3)  # until they listen
    visit = stage.script("visit-rates.py", VISITOR)
    for i in range(6):
        stage.start("python3", visit, f"http://127.0.0.1:{PORT}/rates.php", name=f"rates-visitor-{i}")
    victims.start(stage, "reader", reported.NEW_CLIENT, "127.0.0.1", PORT, "/page.php")
    stage.watch(1)


def inject(stage, chance):
    (stage.work / "php/slow").touch()
    return [stage.actor("php"), stage.actor("rates")]


def restore(stage):
    (stage.work / "php/slow").unlink(missing_ok=True)
