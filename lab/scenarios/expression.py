"""A server checks what visitors type by a regular expression that takes very long for some texts, and a visitor types those."""
from resources import CPU, NETWORK, SWITCHING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | NETWORK | SWITCHING
CAUSE = "cpu"
TOLERABLE = {"cpu-group", "itself", "waits-inside"}
NEEDS = ("node",)
PORT = 18089
SERVER = f"""require('http').createServer((asked, answer) =>
    answer.end(String(/^(\\w+\\s?)+$/.test(decodeURIComponent(asked.url.slice(1)))))).listen({PORT}, '127.0.0.1')"""
VISITOR = f"""const ask = () => require('http').get('http://127.0.0.1:{PORT}/' + process.argv[2], answer => {{
    answer.resume(); answer.on('end', () => setTimeout(ask, Number(process.argv[3]))) }}).on('error', () => setTimeout(ask, 100));
ask()"""


def prepare(stage, chance):
    stage.start("node", stage.script("shop.js", SERVER), name="shop-server")
    stage.start("node", stage.script("visit.js", VISITOR), "tea", 50, name="visitor")


def inject(stage, chance):
    text = "a" * chance.choice((24, 27)) + "!"
    return [stage.actor("shop-server"), stage.start("node", stage.script("visit.js", VISITOR), text, 1, name="stranger")]
