"""A supervisor starts four copies of a program again as soon as they end: each imports much and then cannot have its port."""
from resources import CHILDREN, CPU, FAULTS, READING, SWITCHING

import victims

GROUP = "reported"
RESOURCE = "cpu"
FEATURES = CHILDREN | CPU | FAULTS | READING | SWITCHING
CAUSE = "many-starts"
TOLERABLE = {"children", "cpu", "cpu-group", "cpu-partly", "starting-up"}
NEEDS = ("supervisord", "python3")
PORT = 18411
CONFIGURATION = """[supervisord]
nodaemon=true
logfile=/dev/null
logfile_maxbytes=0
pidfile={folder}/supervisord.pid
[program:worker]
command=/usr/bin/python3 {folder}/worker.py
process_name=worker-%(process_num)s
numprocs=4
autorestart=true
startsecs=0
startretries=100000
stdout_logfile=NONE
stderr_logfile=NONE
"""
WORKER = f"""import asyncio, email, http.server, json, multiprocessing, sqlite3, ssl, unittest, xml.dom.minidom, concurrent.futures, decimal
import socket
socket.create_server(("127.0.0.1", {PORT}))
"""
# No program asks it anything: it is why no other program can have that port.
HOLDER = """import socket, sys, time
door = socket.create_server(("127.0.0.1", int(sys.argv[1])))
time.sleep(1000)
"""
COMPUTES = """import timed
def compute():
    sum(i * i for i in range(600000))
timed.repeat(compute)
"""


def prepare(stage, chance):
    stage.start("python3", stage.script("port-holder.py", HOLDER), PORT, name="port-holder")
    victims.start(stage, "calculator", COMPUTES)
    stage.watch(1)


def inject(stage, chance):
    folder = stage.work / "supervised"
    folder.mkdir(exist_ok=True)
    (folder / "worker.py").write_text(WORKER)
    return [stage.start("supervisord", "-c", stage.script("supervisord.conf", CONFIGURATION.replace("{folder}", str(folder))), name="supervisord")]
