"""A handler of an event loop computes for seconds: all clients of the server wait."""
import signal

from hangstage import TCP_CLIENT

VICTIM = "chatter"
WAITS = {"peer", "lock", "cpu", "none"}
SERVER = """import asyncio, re, signal, sys
async def serve(reader, writer):
    while await reader.read(16):
        writer.write(b"done")
async def main():
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, lambda: re.match("(a+)+b", "a" * 40))
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()
asyncio.run(main())
"""
PORT = 18158


def prepare(stage):
    stage.start("chat-server", SERVER, PORT)
    stage.rest(1)
    stage.start("chatter", TCP_CLIENT, PORT)


def inject(stage):
    return [stage.signal("chat-server", signal.SIGUSR1)]


def release(stage):
    stage.end("chat-server")
