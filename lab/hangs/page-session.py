"""A page of PHP has its user's session open while it makes a report: the same user's next page waits for the session's file."""
from hangstage import HTTP_ONE_VISIT, HTTP_VISITS, PHP_PROGRAM

NEEDS = ("nginx", PHP_PROGRAM)
VICTIM = "customer"
WAITS = {"lock", "peer", "remote", "network"}
PORT = 18201
PAGE = "<?php session_start(); $_SESSION['n'] = 1; echo 'shop';"
REPORT = "<?php session_start(); sleep(1000);"


def prepare(stage):
    sessions = stage.folder / "sessions-of-shop"
    sessions.mkdir()
    (stage.folder / "basket-page.php").write_text(PAGE)
    (stage.folder / "yearly-report.php").write_text(REPORT)
    stage.start_php("shop", PORT, 4, 'fastcgi_param HTTP_COOKIE "PHPSESSID=customer";', f"php_admin_value[session.save_path] = {sessions}")
    stage.start("customer", HTTP_VISITS, PORT, "/basket-page.php")


def inject(stage):
    return [stage.start("other-tab", HTTP_ONE_VISIT, PORT, "/yearly-report.php"), stage.actor("shop-pool")]


def release(stage):
    stage.end("shop-pool")
