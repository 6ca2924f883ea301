"""A Java service may use half a CPU. Its import begins to make objects in three threads: the collector uses up the quota, and each request waits for it."""
import reported
import victims
from resources import CPU, LOCKS, MEMORY, SWITCHING

GROUP = "reported"
RESOURCE = "cpu"
FEATURES = CPU | LOCKS | MEMORY | SWITCHING | {"quota.throttled", "wait.quota", "cgroup.throttled", "cgroup.throttles"}
CAUSE = "quota-own"
TOLERABLE = {"quota", "cpu", "cpu-group"}
NEEDS = ("java", "javac")
PORT = 18401


def make(stage):
    reported.make_java(stage)


def prepare(stage, chance):
    stage.groups.set_quota(50)
    reported.start_java(stage, PORT, "quota", "-XX:+UseParallelGC", "-XX:ParallelGCThreads=4", "-Xmx128m")
    stage.watch(6)  # until it listens
    victims.start(stage, "shopper", reported.KEPT_CLIENT, "127.0.0.1", PORT, "/")
    stage.watch(1)


def inject(stage, chance):
    reported.ask_once(stage, f"http://127.0.0.1:{PORT}/import")
    return [stage.actor("orders")]


def restore(stage):
    stage.groups.set_quota(None)
