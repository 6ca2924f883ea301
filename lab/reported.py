"""What several kinds that people have reported share: clients, servers, and another machine that has rules."""
from stage import SceneBroken

# Asks for a page over one connection that is kept, again and again: sys.argv[3:] = host, port, path.
KEPT_CLIENT = """import http.client, sys, timed
server = http.client.HTTPConnection(sys.argv[3], int(sys.argv[4]), timeout=timed.TIMEOUT)
def ask():
    try:
        server.request("GET", sys.argv[5])
        server.getresponse().read()
    except (OSError, http.client.HTTPException) as error:
        server.close()
        raise OSError(str(error))
timed.repeat(ask)
"""

# The same over a new connection each time.
NEW_CLIENT = """import http.client, sys, timed
def ask():
    server = http.client.HTTPConnection(sys.argv[3], int(sys.argv[4]), timeout=timed.TIMEOUT)
    try:
        server.request("GET", sys.argv[5])
        server.getresponse().read()
    except http.client.HTTPException as error:
        raise OSError(str(error))
    finally:
        server.close()
timed.repeat(ask)
"""

# A service with a small request handler, and background work that begins when it is asked for /import (short-lived objects in three threads) or
# /fill (the heap is filled but for 6 MB, and allocation continues).
JAVA = """import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.concurrent.Executors;
public class Orders {
    static final ArrayList<byte[]> kept = new ArrayList<>();
    static volatile Object last;
    static void allocate() {
        while (true) {
            ArrayList<String> rows = new ArrayList<>();
            for (int i = 0; i < 40000; i++)
                rows.add("order " + i + System.nanoTime());
            last = rows;
        }
    }
    static void fill() {
        Runtime memory = Runtime.getRuntime();
        while (memory.maxMemory() - memory.totalMemory() + memory.freeMemory() > (6 << 20))
            synchronized (kept) { kept.add(new byte[100000]); }
        while (true) {
            byte[][] some = new byte[20][];
            for (int i = 0; i < some.length; i++)
                some[i] = new byte[50000];
            last = some;
        }
    }
    static void begin(int threads, Runnable work) {
        for (int i = 0; i < threads; i++) {
            Thread thread = new Thread(work);
            thread.setDaemon(true);
            thread.start();
        }
    }
    public static void main(String[] arguments) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 50);
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.createContext("/", request -> {
            String path = request.getRequestURI().getPath();
            if (path.equals("/import"))
                begin(3, Orders::allocate);
            if (path.equals("/fill"))
                begin(1, Orders::fill);
            StringBuilder page = new StringBuilder();
            for (int i = 0; i < 300; i++)
                page.append(i);
            byte[] body = page.toString().getBytes();
            request.sendResponseHeaders(200, body.length);
            request.getResponseBody().write(body);
            request.close();
        });
        server.start();
    }
}
"""
# Looks up another name each time.
LOOKS_UP = """import itertools, socket, timed
number = itertools.count()
def look_up():
    try:
        socket.getaddrinfo(f"host{next(number)}.lab.test", 80)
    except socket.gaierror:
        pass
timed.repeat(look_up, 0.4)
"""
ASK_ONCE = """import sys, time, urllib.request
for left in reversed(range(20)):
    try:
        urllib.request.urlopen(sys.argv[1], timeout=5).read()
        break
    except OSError:
        if not left:
            raise
        time.sleep(0.5)
"""


def make_java(stage):
    folder = stage.work / "java"
    if not (folder / "Orders.class").exists():
        folder.mkdir(exist_ok=True)
        (folder / "Orders.java").write_text(JAVA)
        stage.finish("javac", "-d", folder, folder / "Orders.java")


def start_java(stage, port, group, *options):
    return stage.start("java", *options, "-cp", stage.work / "java", "Orders", port, name="orders", group=group)


def ask_once(stage, url):
    """Of a service, which may not be up yet."""
    stage.finish("/usr/bin/python3", "-c", ASK_ONCE, url)


def lose_in_far(stage, *match):
    """From now on the other machine loses the packets that match."""
    if not stage.filter_in_far("-A", "INPUT", *match, "-j", "DROP"):
        raise SceneBroken("packets cannot be dropped here")


def lose_nothing_in_far(stage):
    stage.filter_in_far("-F", "INPUT")


def name_server(stage, name, address, *options, before=()):
    stage.start("dnsmasq", "-k", "--conf-file=/dev/null", "--pid-file=", f"--listen-address={address}", "--bind-interfaces", "--no-resolv", "--no-hosts", *options, "--user=root",
                name=name, before=before)


def asking_name_server(stage, address):
    """The words before a command that has its names from there."""
    settings = stage.script("resolv.conf", f"nameserver {address}\n")
    return ("/usr/bin/unshare", "-m", "sh", "-c", f'mount --bind {settings} /etc/resolv.conf && exec "$@"', "sh")


def nginx(stage, folder, port, servers):
    """A web server of its own in that folder: more lines of its `server`."""
    folder.mkdir(exist_ok=True)
    (folder / "nginx.conf").write_text(f"daemon off; user root; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;\n"
                                       f"events {{ worker_connections 8000; }}\nhttp {{ access_log off; server {{ listen {port} backlog=511; root {folder}; {servers} }} }}\n")
    (folder / "small").write_text("small\n")
    return folder


def ordinary(stage, name, command):
    """Something that people do and that hurts no one: a command of bash's. No program is to blame while it lasts."""
    stage.start("bash", "-c", command, name=name)
    return []


def in_terminal(stage, name, command):
    """The same in a terminal, whose user does nothing."""
    settings = stage.script(f"{name}.conf", f"set -g exit-empty off\nnew-session -d -x 120 -y 40 \"{command}\"\n")
    stage.start("tmux", "-D", "-L", f"lab-{name}", "-f", settings, name=name)
    return []
