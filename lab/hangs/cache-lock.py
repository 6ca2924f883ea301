"""A web server's cache lets one request fill an entry, and who wants the same page waits for that: the program behind it does not answer that one."""
from hangstage import HTTP_ONE_VISIT, HTTP_SERVER, HTTP_VISITS

NEEDS = ("nginx",)
VICTIM = "news-reader"
WAITS = {"peer", "remote", "network"}
FRONT, BACK = 18210, 18211
SERVER = """import os, sys, time
threaded = True
def before_answer(path):
    if os.path.exists(sys.argv[2]):
        time.sleep(1000)
""" + HTTP_SERVER
SETTINGS = f"""daemon off; user root; worker_processes 1; pid cache-lock.pid; error_log cache-lock.log;
events {{ }} http {{ access_log off; proxy_cache_path front-cache keys_zone=pages:1m; server {{ listen 127.0.0.1:{FRONT}; location / {{
proxy_pass http://127.0.0.1:{BACK}; proxy_read_timeout 1000; proxy_cache pages; proxy_cache_valid 200 1s; proxy_cache_lock on; proxy_cache_lock_timeout 1000s;
proxy_cache_lock_age 1000s; }} }} }}
"""


def prepare(stage):
    stage.start("newspaper", SERVER, BACK, stage.folder / "newspaper-is-closed")
    (stage.folder / "cache-lock.conf").write_text(SETTINGS)
    stage.run("nginx", "-p", stage.folder, "-c", "cache-lock.conf", name="page-cache")
    stage.rest(1)
    stage.start("news-reader", HTTP_VISITS, FRONT, "/front-page")


def inject(stage):
    (stage.folder / "newspaper-is-closed").touch()
    return [stage.start("early-reader", HTTP_ONE_VISIT, FRONT, "/front-page"), stage.actor("newspaper")]


def release(stage):
    stage.end("newspaper")
