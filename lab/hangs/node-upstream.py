"""A server of Node.js asks another one for each request, which answers no more; its other requests it serves."""
import signal

from hangstage import HTTP_VISIT, HTTP_VISITS

NEEDS = ("node",)
VICTIM = "ticket-page"
WAITS = {"peer", "remote", "network"}
FRONT, BACK = 18197, 18198
PROXY = """const http = require("http");
http.createServer((request, response) => {
    if (request.url === "/alive")
        response.end("yes");
    else
        http.get({ host: "127.0.0.1", port: Number(process.argv[3]), path: request.url }, (answer) => answer.pipe(response));
}).listen(Number(process.argv[2]), "127.0.0.1");
"""
SERVER = """const http = require("http");
let late = false;
process.on("SIGUSR2", () => { late = true; });
http.createServer((request, response) => {
    if (!late)
        response.end("seat");
}).listen(Number(process.argv[2]), "127.0.0.1");
"""


def prepare(stage):
    (stage.folder / "seats.js").write_text(SERVER)
    (stage.folder / "tickets.js").write_text(PROXY)
    stage.run("node", stage.folder / "seats.js", BACK, name="seats")
    stage.run("node", stage.folder / "tickets.js", FRONT, BACK, name="tickets")
    stage.rest(2)
    stage.start("monitoring", HTTP_VISIT + "import time\nwhile True:\n    ask()\n    time.sleep(0.1)\n", FRONT, "/alive")
    stage.start("ticket-page", HTTP_VISITS, FRONT, "/seat")


def inject(stage):
    return [stage.signal("seats", signal.SIGUSR2)]


def release(stage):
    stage.end("seats")
