"""A thread of a Java server sleeps with a monitor that each request needs."""
import signal

from hangstage import TCP_CLIENT

NEEDS = ("java",)
VICTIM = "buyer"
WAITS = {"peer", "lock", "remote", "network"}
SERVER = """import java.io.*; import java.net.*;
public class Offers {
    static final Object monitor = new Object();
    static void serve(Socket client) {
        try (client) {
            byte[] request = new byte[16];
            while (client.getInputStream().read(request) > 0) {
                byte answer;
                synchronized (monitor) { answer = request[0]; }
                client.getOutputStream().write(answer);
            }
        } catch (IOException e) { }
    }
    static void reload() {
        synchronized (monitor) { try { Thread.sleep(1000000); } catch (InterruptedException e) { } }
    }
    public static void main(String[] arguments) throws Exception {
        ServerSocket door = new ServerSocket(Integer.parseInt(arguments[0]), 50, InetAddress.getLoopbackAddress());
        sun.misc.Signal.handle(new sun.misc.Signal("USR2"), s -> new Thread(Offers::reload).start());
        while (true) { Socket client = door.accept(); new Thread(() -> serve(client)).start(); }
    }
}
"""
PORT = 18172


def prepare(stage):
    source = stage.folder / "Offers.java"
    source.write_text(SERVER)
    stage.run("java", "-XX:+UseSerialGC", source, PORT, name="offers")
    stage.rest(8)
    stage.start("buyer", TCP_CLIENT, PORT)


def inject(stage):
    return [stage.signal("offers", signal.SIGUSR2)]


def release(stage):
    stage.end("offers")
