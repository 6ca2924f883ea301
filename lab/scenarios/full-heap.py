"""The heap of a Java service gets full but for its last megabytes, and it continues: its collector works nearly all the time, and each request waits for it."""
import reported
import victims
from resources import CPU, LOCKS, MEMORY, SWITCHING

GROUP = "reported"
RESOURCE = "cpu"
FEATURES = CPU | LOCKS | MEMORY | SWITCHING
CAUSE = "cpu"
TOLERABLE = {"cpu-group", "threads"}
NEEDS = ("java", "javac")
PORT = 18402


def make(stage):
    reported.make_java(stage)


def prepare(stage, chance):
    reported.start_java(stage, PORT, "normal", "-XX:+UseParallelGC", "-Xmx64m")
    stage.watch(4)  # until it listens
    victims.start(stage, "shopper", reported.KEPT_CLIENT, "127.0.0.1", PORT, "/")
    stage.watch(1)


def inject(stage, chance):
    reported.ask_once(stage, f"http://127.0.0.1:{PORT}/fill")
    return [stage.actor("orders")]
