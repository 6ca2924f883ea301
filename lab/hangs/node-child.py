"""A server of Node.js runs a command and waits for its end, in an event loop of its own: no other request is answered."""
import signal

from hangstage import TCP_CLIENT

NEEDS = ("node",)
VICTIM = "kiosk"
WAITS = {"peer", "network", "remote"}
SERVER = """const child = require("child_process"), net = require("net");
let late = false;
process.on("SIGUSR2", () => { late = true; });
net.createServer((client) => client.on("data", () => {
    if (late)
        child.execFileSync("sleep", ["1000"]);
    client.write("done");
})).listen(Number(process.argv[2]), "127.0.0.1");
"""
PORT = 18171


def prepare(stage):
    (stage.folder / "menu.js").write_text(SERVER)
    stage.run("node", stage.folder / "menu.js", PORT, name="menu-server")
    stage.rest(1)
    stage.start("kiosk", TCP_CLIENT, PORT)


def inject(stage):
    return [stage.signal("menu-server", signal.SIGUSR2)]


def release(stage):
    stage.end("menu-server")
