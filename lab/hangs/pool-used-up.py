"""All workers of a server read from clients that say no more: who comes next is not served."""
VICTIM = "customer"
WAITS = {"peer", "network", "remote"}
SERVER = """import concurrent.futures, socket, sys
door = socket.create_server(("127.0.0.1", int(sys.argv[1])))
def serve(client):
    with client:
        client.recv(16)
        client.sendall(b"done")
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    while True:
        pool.submit(serve, door.accept()[0])
"""
CLIENT = """import socket, sys, timed
def visit():
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as server:
        server.sendall(b"tea")
        server.recv(16)
timed.repeat(visit)
"""
SILENT = """import socket, sys, time
kept = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(4)]
time.sleep(1000)
"""
PORT = 18162


def prepare(stage):
    stage.start("counter-service", SERVER, PORT)
    stage.rest(1)
    stage.start("customer", CLIENT, PORT)


def inject(stage):
    return [stage.start("scraper", SILENT, PORT), stage.actor("counter-service")]


def release(stage):
    stage.end("counter-service")
