"""A client makes a new TLS connection for each request (openssl s_time): the server signs without a pause."""
from resources import CPU, NETWORK, SWITCHING

GROUP = "tools"
RESOURCE = "cpu"
FEATURES = CPU | NETWORK | SWITCHING
CAUSE = "cpu-group"
TOLERABLE = {"cpu", "kernel-work", "packet-flood"}
NEEDS = ("openssl",)
PORT = 18181


def inject(stage, chance):
    bits = chance.choice((2048, 4096))
    key = f"openssl req -x509 -newkey rsa:{bits} -nodes -keyout {stage.work}/tls.key -out {stage.work}/tls.crt -subj /CN=lab 2>/dev/null"
    stage_server = stage.start("sh", "-c", f"{key}; exec openssl s_server -quiet -accept {PORT} -key {stage.work}/tls.key -cert {stage.work}/tls.crt -www",
                               name="tls-server")
    client = stage.start("sh", "-c", f"sleep 2; while :; do openssl s_time -connect localhost:{PORT} -new -time 30 >/dev/null; done", name="tls-client")
    return [stage_server, client]
