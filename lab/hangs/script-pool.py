"""The pool of PHP has one process, which runs a script that sleeps: the next page waits in the web server for it."""
from hangstage import HTTP_ONE_VISIT, HTTP_VISITS, PHP_PROGRAM

NEEDS = ("nginx", PHP_PROGRAM)
VICTIM = "page-reader"
WAITS = {"peer", "remote", "network"}
PORT = 18182


def prepare(stage):
    (stage.folder / "page.php").write_text("<?php echo 'shop';")
    (stage.folder / "newsletter.php").write_text("<?php sleep(1000);")
    stage.start_php("php", PORT, 1)
    stage.start("page-reader", HTTP_VISITS, PORT, "/page.php")


def inject(stage):
    return [stage.start("mailing", HTTP_ONE_VISIT, PORT, "/newsletter.php"), stage.actor("php-pool")]


def release(stage):
    stage.end("php-pool")
