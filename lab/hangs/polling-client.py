"""An event loop asks a server whose one thread computes: no wait is booked of a client that polls, and no wakeup tells of its request."""
import signal

VICTIM = "dashboard"
WAITS = {"peer", "lock", "cpu", "none"}
SERVER = """import re, signal, socket, sys
late = False
def become_late(*_):
    global late
    late = True
signal.signal(signal.SIGUSR1, become_late)
door = socket.socket(socket.AF_UNIX)
door.bind(sys.argv[1])
door.listen()
client = door.accept()[0]
while client.recv(16):
    client.sendall(b"done")
    if late:
        re.match("(a+)+b", "a" * 40)
"""
CLIENT = """import asyncio, sys, time, timed, struct
async def main():
    reader, writer = await asyncio.open_unix_connection(sys.argv[1])
    while True:
        writer.write(b"order")
        await reader.read(16)
        struct.pack_into("d", timed.page, 0, time.monotonic())
        await asyncio.sleep(timed.pause())
asyncio.run(main())
"""


def prepare(stage):
    stage.start("report-server", SERVER, stage.folder / "reports")
    stage.rest(1)
    stage.start("dashboard", CLIENT, stage.folder / "reports")


def inject(stage):
    return [stage.signal("report-server", signal.SIGUSR1)]


def release(stage):
    stage.end("report-server")
