"""A server may have 80 files open. A program opens 95 connections to it and keeps them: who connects anew is not accepted."""
import victims
from resources import CPU, SWITCHING

GROUP = "reported"
RESOURCE = "handles"
FEATURES = CPU | SWITCHING | {"handles.files", "handles.sockets", "wait.peer", "wait.network"}
CAUSE = "server-not-accepting"
TOLERABLE = {"file-handles", "no-answer"}
NEEDS = ("python3",)
PORT = 18407
SERVER = """import asyncio, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (80, 80))
async def serve(reader, writer):
    while line := await reader.readline():
        writer.write(line)
        await writer.drain()
    writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()
asyncio.run(main())
"""
CLIENT = """import sys, timed
def ask():
    with timed.connect("127.0.0.1", int(sys.argv[3])) as server:
        server.sendall(b"tea\\n")
        server.recv(10)
timed.repeat(ask)
"""
KEEPER = """import socket, sys, time
kept = []
for i in range(95):
    kept.append(socket.create_connection(("127.0.0.1", int(sys.argv[1]))))
    time.sleep(0.01)
time.sleep(1000)
"""


def prepare(stage, chance):
    stage.start("python3", stage.script("tickets.py", SERVER), PORT, name="ticket-service")
    stage.watch(2)  # until it listens
    victims.start(stage, "buyer", CLIENT, PORT)
    stage.watch(1)


def inject(stage, chance):
    return [stage.start("python3", stage.script("keeper.py", KEEPER), PORT, name="keeper"), stage.actor("ticket-service")]
