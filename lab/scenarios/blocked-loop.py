"""A handler of an event loop sleeps instead of waiting for events: all clients of the server wait, and nothing computes."""
import signal

from resources import LOCKS, SWITCHING

GROUP = "other"
RESOURCE = "delay"
FEATURES = LOCKS | SWITCHING | {"wait.peer", "wait.network"}
CAUSE = "no-answer"
TOLERABLE = set()
NEEDS = ("perl", "python3")
SERVER = """import asyncio, os, signal, sys, time
async def serve(reader, writer):
    while await reader.read(16):
        writer.write(b"done")
async def main():
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, lambda: time.sleep(1000))
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    with open(sys.argv[1] + ".new", "w") as port:
        port.write(str(server.sockets[0].getsockname()[1]))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    await server.serve_forever()
asyncio.run(main())
"""
CLIENT = """use IO::Socket::INET; use Time::HiRes "sleep"; sleep 0.1 until -e $ARGV[0];
open my $file, "<", $ARGV[0]; my $port = <$file>; my $server = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port") or die;
while (1) { $server->send("order"); $server->recv(my $answer, 16); sleep 0.02; }"""


def prepare(stage, chance):
    port = stage.work / "loop-port"
    port.unlink(missing_ok=True)
    stage.start("python3", "-c", SERVER, port, name="loop-server")
    for _ in range(chance.choice((1, 3))):
        stage.start("perl", "-e", CLIENT, port, name="loop-client")


def inject(stage, chance):
    server = stage.actor("loop-server")
    server.process.send_signal(signal.SIGUSR1)
    return [server]
