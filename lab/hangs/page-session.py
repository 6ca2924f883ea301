"""A page of PHP has its user's session open while it makes a report: the same user's next page waits for the session's file."""
import pathlib

from hangstage import HTTP_VISIT

POOL_PROGRAM = min((path.name for path in pathlib.Path("/usr/sbin").glob("php-fpm*")), default="php-fpm")
NEEDS = ("nginx", POOL_PROGRAM)
VICTIM = "customer"
WAITS = {"lock", "peer", "remote", "network"}
PORT = 18201
FRONT = """daemon off; user root; worker_processes 1; pid shop-front.pid; error_log shop-front.log;
events {{ }} http {{ access_log off; server {{ listen 127.0.0.1:{port}; root {folder}; location / {{
fastcgi_pass unix:{folder}/shop.socket; fastcgi_read_timeout 1000; fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
fastcgi_param REQUEST_METHOD $request_method; fastcgi_param HTTP_COOKIE "PHPSESSID=customer"; }} }} }}
"""
POOL = """[global]
daemonize = no
error_log = {folder}/shop.log
[www]
user = root
listen = {folder}/shop.socket
pm = static
pm.max_children = 4
php_admin_value[session.save_path] = {folder}/sessions-of-shop
"""
PAGE = "<?php session_start(); $_SESSION['n'] = 1; echo 'shop';"
REPORT = "<?php session_start(); sleep(1000);"


def prepare(stage):
    (stage.folder / "sessions-of-shop").mkdir()
    (stage.folder / "basket-page.php").write_text(PAGE)
    (stage.folder / "yearly-report.php").write_text(REPORT)
    (stage.folder / "shop-front.conf").write_text(FRONT.format(port=PORT, folder=stage.folder))
    (stage.folder / "shop.conf").write_text(POOL.format(folder=stage.folder))
    stage.run(POOL_PROGRAM, "-R", "-n", "-y", stage.folder / "shop.conf", name="shop-pool")
    stage.rest(2)
    stage.run("nginx", "-p", stage.folder, "-c", "shop-front.conf", name="shop-front")
    stage.rest(1)
    stage.start("customer", HTTP_VISIT + "import timed\ntimed.repeat(ask)\n", PORT, "/basket-page.php")


def inject(stage):
    return [stage.start("other-tab", HTTP_VISIT + "ask()\n", PORT, "/yearly-report.php"), stage.actor("shop-pool")]


def release(stage):
    stage.end("shop-pool")
