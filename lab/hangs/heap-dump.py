"""A command writes the heap of a Java server to a file, for which all of its threads stand still."""
from hangstage import TCP_CLIENT

NEEDS = ("java", "jcmd")
VICTIM = "trader"
WAITS = {"peer", "lock", "remote", "network", "cpu", "disk"}
SERVER = """import java.io.*; import java.net.*; import java.util.*;
public class Quotes {
    static final List<Map<String, int[]>> kept = new ArrayList<>();
    static void serve(Socket client) {
        try (client) {
            byte[] request = new byte[16];
            while (client.getInputStream().read(request) > 0)
                client.getOutputStream().write(request[0]);
        } catch (IOException e) { }
    }
    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 2000000; i++)
            kept.add(Map.of("quote " + i, new int[10]));
        ServerSocket door = new ServerSocket(Integer.parseInt(arguments[0]), 50, InetAddress.getLoopbackAddress());
        while (true) { Socket client = door.accept(); new Thread(() -> serve(client)).start(); }
    }
}
"""
PORT = 18188


def prepare(stage):
    source = stage.folder / "Quotes.java"
    source.write_text(SERVER)
    stage.run("java", "-XX:+UseSerialGC", "-Xmx1500m", source, PORT, name="quotes")
    stage.rest(12)
    stage.start("trader", TCP_CLIENT, PORT)


def inject(stage):
    server = stage.actor("quotes")
    return [stage.run("jcmd", server.process.pid, "GC.heap_dump", "-gz=9", stage.folder / "heap.gz", name="dumper"), server]


def release(stage):
    stage.end("quotes")
