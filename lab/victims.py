"""Programs that time their own requests: who suffers of a slowdown, and by how much.

Two of each kind: one has a time-out and waits in poll() before it reads, as most clients do, the other one waits in read(). Their times are in
a file that they have mapped, so that timing makes no call.
"""
import json
import mmap
import struct
import time

HARMED = 1.5  # times slower, at least, and
NOTICED = 0.02  # seconds slower
SLOTS = 4096  # requests that a file remembers
ENTRY = struct.Struct("=dd")  # when it began (time.time()), and how long it took; 0 while it is not done

TIMED = """import mmap, os, random, socket, struct, sys, time
TIMEOUT = 60 if sys.argv[1] == "poll" else None
page = mmap.mmap(os.open(sys.argv[2], os.O_RDWR), {size})
def connect(host, port):
    server = socket.create_connection((host, port), TIMEOUT)
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return server
def connect_local(path):
    server = socket.socket(socket.AF_UNIX)
    server.settimeout(TIMEOUT)
    server.connect(path)
    return server
def repeat(request, pause=0.05):
    number = 0
    while True:
        begin = time.time()
        struct.pack_into("=dd", page, number % {slots} * 16, begin, 0.0)
        try:
            request()
        except OSError:
            time.sleep(0.5)
        struct.pack_into("=dd", page, number % {slots} * 16, begin, time.time() - begin)
        number += 1
        time.sleep(pause * (0.5 + random.random()))
"""


def start(stage, name, script, *arguments, before=()):
    """NAME-poll and NAME-read, with sys.argv[3:] = arguments; the script says timed.repeat(request). before: a command that starts it."""
    stage.script("timed.py", TIMED.replace("{size}", str(SLOTS * ENTRY.size)).replace("{slots}", str(SLOTS)))
    for how in ("poll", "read"):
        times = stage.script(f"{name}-{how}.times", "")
        times.write_bytes(bytes(SLOTS * ENTRY.size))
        stage.start("python3", stage.script(f"{name}-{how}.py", script), how, times, *arguments, name=f"{name}-{how}", before=before).times = times


def requests(actor):
    """(when it began, how long it took or takes so far) of each."""
    with open(actor.times, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as page:
        found = [ENTRY.unpack_from(page, i * ENTRY.size) for i in range(SLOTS)]
    return sorted((begin, took or time.time() - begin) for begin, took in found if begin)


def wait_at_random(of):
    """How long the request takes that one finds at a random moment of all that time: one that hangs for seconds counts as seconds, however many were
    answered before it."""
    total = sum(of)
    return sum(took * took for took in of) / total if total else 0


def ask(stage, recorder, calm, injected, now):
    """Of each victim: how long it waited usually, in the seconds `calm` from which it was not frozen any more to the injection, and since it got slow, and
    what `why VICTIM` says."""
    found = []
    for actor in stage.actors:
        if hasattr(actor, "times"):
            of = requests(actor)
            usually = [took for begin, took in of if begin > calm and begin + took < injected]
            slow = [took for begin, took in of if begin + took > injected + 1 and begin < now]
            said = recorder.run("why", str(actor.process.pid), "--json").stdout
            found.append({"name": actor.name, "pids": sorted(actor.pids()), "usually": wait_at_random(usually),
                          "slow": wait_at_random(slow), "said": json.loads(said) if said else None})
    return found


def is_harmed(victim):
    return victim["slow"] > HARMED * victim["usually"] and victim["slow"] - victim["usually"] > NOTICED


def finds_nothing(victim):
    """Of one that was harmed."""
    return not victim["said"] or "waits for nothing" in victim["said"]["summary"]


def listed(answer, victims):
    """Of those who were harmed, how many the answer lists as such: [listed, harmed]."""
    named = {victim["pid"] for victim in answer.get("victims", [])}
    harmed = [victim for victim in victims if is_harmed(victim)]
    return [sum(bool(named & set(victim["pids"])) for victim in harmed), len(harmed)]
