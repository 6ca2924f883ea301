"""All threads of a Java server's pool read from clients that say nothing: the next request lies in the queue of the pool."""
NEEDS = ("java",)
VICTIM = "patient"
WAITS = {"peer", "lock", "remote", "network"}
PORT = 18199
SERVER = """import java.io.*; import java.net.*; import java.util.concurrent.*;
public class Surgery {
    static void serve(Socket client) {
        try (client) {
            byte[] request = new byte[16];
            if (client.getInputStream().read(request) > 0)
                client.getOutputStream().write(request[0]);
        } catch (IOException e) { }
    }
    public static void main(String[] arguments) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(3);
        ServerSocket door = new ServerSocket(Integer.parseInt(arguments[0]), 50, InetAddress.getLoopbackAddress());
        while (true) { Socket client = door.accept(); pool.submit(() -> serve(client)); }
    }
}
"""
CLIENT = """import socket, sys, timed
def visit():
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as server:
        server.sendall(b"cough")
        server.recv(16)
timed.repeat(visit)
"""
SILENT = """import socket, sys, time
kept = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(3)]
time.sleep(1000)
"""


def prepare(stage):
    source = stage.folder / "Surgery.java"
    source.write_text(SERVER)
    stage.run("java", "-XX:+UseSerialGC", source, PORT, name="surgery")
    stage.rest(8)
    stage.start("patient", CLIENT, PORT)


def inject(stage):
    return [stage.start("insurance", SILENT, PORT), stage.actor("surgery")]


def release(stage):
    stage.end("surgery")
