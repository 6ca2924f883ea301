"""A build tool that cannot be told of changes asks for each of thousands of files ten times a second whether it has changed."""
from resources import CPU, SWITCHING

GROUP = "real"
RESOURCE = "cpu"
FEATURES = CPU | SWITCHING | {"threads.count", "io.read_calls", "handles.files"}
CAUSE = "kernel-work"
TOLERABLE = {"cpu", "cpu-group", "threads"}
NEEDS = ("node",)
PROGRAM = """const fs = require('fs'), path = require('path');
const watch = folder => fs.readdirSync(folder, { withFileTypes: true }).forEach(entry => {
    const name = path.join(folder, entry.name);
    if (entry.isDirectory()) watch(name); else if (entry.isFile()) fs.watchFile(name, { interval: 100 }, () => {});
});
process.argv.slice(2).forEach(watch)"""


def inject(stage, chance):
    return [stage.start("node", stage.script("build-tool.js", PROGRAM), *chance.choice((("/usr/include",), ("/usr/include", "/usr/share/perl"))), name="build-tool")]
