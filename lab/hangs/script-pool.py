"""The pool of PHP has one process, which runs a script that sleeps: the next page waits in the web server for it."""
import pathlib

from hangstage import HTTP_ONE_VISIT, HTTP_VISITS

POOL_PROGRAM = min((path.name for path in pathlib.Path("/usr/sbin").glob("php-fpm*")), default="php-fpm")
NEEDS = ("nginx", POOL_PROGRAM)
VICTIM = "page-reader"
WAITS = {"peer", "remote", "network"}
PORT = 18182
FRONT = """daemon off; user root; worker_processes 1; pid php-front.pid; error_log php-front.log;
events {{ }} http {{ access_log off; server {{ listen 127.0.0.1:{port}; root {folder}; location / {{
fastcgi_pass unix:{folder}/php.socket; fastcgi_read_timeout 1000; fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
fastcgi_param REQUEST_METHOD $request_method; }} }} }}
"""
POOL = """[global]
daemonize = no
error_log = {folder}/php.log
[www]
user = root
listen = {folder}/php.socket
pm = static
pm.max_children = 1
"""


def prepare(stage):
    (stage.folder / "page.php").write_text("<?php echo 'shop';")
    (stage.folder / "newsletter.php").write_text("<?php sleep(1000);")
    (stage.folder / "php-front.conf").write_text(FRONT.format(port=PORT, folder=stage.folder))
    (stage.folder / "php.conf").write_text(POOL.format(folder=stage.folder))
    stage.run(POOL_PROGRAM, "-R", "-n", "-y", stage.folder / "php.conf", name="php-pool")
    stage.rest(2)
    stage.run("nginx", "-p", stage.folder, "-c", "php-front.conf", name="php-front")
    stage.rest(1)
    stage.start("page-reader", HTTP_VISITS, PORT, "/page.php")


def inject(stage):
    return [stage.start("mailing", HTTP_ONE_VISIT, PORT, "/newsletter.php"), stage.actor("php-pool")]


def release(stage):
    stage.end("php-pool")
