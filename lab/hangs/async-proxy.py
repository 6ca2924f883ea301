"""A server of coroutines asks another one over a local socket, which answers no more."""
import signal

from hangstage import TCP_CLIENT

VICTIM = "traveller"
WAITS = {"peer", "remote", "network"}
PORT = 18196
PROXY = """import asyncio, sys
async def serve(reader, writer):
    up, down = await asyncio.open_unix_connection(sys.argv[2])
    while request := await reader.read(16):
        down.write(request)
        writer.write(await up.read(16))
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()
asyncio.run(main())
"""
SERVER = """import signal, socket, sys, time
late = 0
def become_late(*_):
    global late
    late = 1000
signal.signal(signal.SIGUSR1, become_late)
door = socket.socket(socket.AF_UNIX)
door.bind(sys.argv[1])
door.listen()
client = door.accept()[0]
while client.recv(16):
    time.sleep(late)
    client.sendall(b"done")
"""


def prepare(stage):
    place = stage.folder / "fares"
    stage.start("fares", SERVER, place)
    stage.start("travel-agency", PROXY, PORT, place)
    stage.rest(1)
    stage.start("traveller", TCP_CLIENT, PORT)


def inject(stage):
    return [stage.signal("fares", signal.SIGUSR1)]


def release(stage):
    stage.end("fares")
