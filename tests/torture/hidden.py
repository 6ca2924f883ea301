#!/usr/bin/env python3
"""hidden.py WHYSLOW FOLDER: for the attack `hidden`, where /proc is mounted with hidepid. No answer to a user may hold the name or the number
of another user's process. Exit status 1: one does."""
import os
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from recorder import NOBODY, OTHER, Recorder

whyslow, folder = sys.argv[1:]
shutil.copy("/bin/bash", folder + "/needlename")
recorder = Recorder(whyslow, folder)
victim = subprocess.Popen([folder + "/needlename", "-c", "while :; do :; done", "needleword"], user=OTHER, group=OTHER, extra_groups=[])
own = subprocess.Popen(["bash", "-c", "while :; do :; done"], user=NOBODY, group=NOBODY, extra_groups=[])
found = []
tries = 0
try:
    time.sleep(5)
    root = recorder.ask("show", "--json")
    if "needlename" not in root.stdout:
        sys.exit("root does not see the process: " + root.stderr)
    recorder.ask("calm", str(victim.pid), "--by", "class", "--force")
    for words in ("why", "why --json", f"why {victim.pid}", "why needlename", "show", "show --json", "show --lives", "cpu --for 200ms --json", "waits --json", f"waits {own.pid} --json",
                  f"export --format trace --output {folder}/x", "calm", "calm --json", f"calm {victim.pid}", f"confirm {own.pid} --force --json", f"confirm {own.pid} --victim {victim.pid} --force --json",
                  "list --json", "history", "mark --why x", "top --json"):
        done = recorder.ask(*words.split(), user=NOBODY, group=NOBODY, extra_groups=[], stdin=subprocess.DEVNULL, cwd="/", timeout=100)
        tries += 1
        text = done.stdout + done.stderr
        asked = [str(victim.pid), "needlename"] if str(victim.pid) in words or "needlename" in words else []
        if "needlename" in text and "needlename" not in asked:
            found.append(f"{words}: {text[max(0, text.index('needlename') - 60):][:160]}")
        if f'"pid": {victim.pid}' in text or f'"pid":{victim.pid}' in text:
            found.append(f"{words}: its number")
finally:
    recorder.ask("calm", "--undo")
    for p in (victim, own):
        p.kill()
        p.wait()
    recorder.stop()
with open(folder + "/tries", "w") as f:
    f.write(str(tries))
print("\n".join(found))
sys.exit(bool(found))
