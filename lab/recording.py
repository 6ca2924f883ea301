"""whyslow as a user has it: only its command line."""
import json
import pathlib
import re
import shutil
import signal
import subprocess
import time

from stage import RUN, enter


class Asked:
    """What can be asked of a recording; `here` says where it is."""

    whyslow, here = None, []

    def run(self, *arguments):
        return subprocess.run([self.whyslow, *arguments, *self.here], capture_output=True, text=True, check=False)

    def why(self, mark, model):
        """The answer as a dictionary, and how many seconds it took."""
        begin = time.monotonic()
        said = self.run("why", "--at", mark, "--model", model, "--json")
        took = time.monotonic() - begin
        if said.returncode > 1:
            raise RuntimeError(f"why --model {model}: {said.stderr.strip()}")
        return json.loads(said.stdout), took

    def words(self, mark):
        return self.run("why", "--at", mark).stdout


class Kept(Asked):
    """The recording of a case that is over."""

    def __init__(self, whyslow, store):
        self.whyslow, self.here = whyslow, ["--from", store]


class Recorder(Asked):
    """A recorder with a store of its own; a context."""

    def __init__(self, stage, store):
        self.whyslow, self.store = stage.whyslow, pathlib.Path(store)
        self.here = ["--store", str(store), "--run-dir", str(RUN / "recorder")]

    def __enter__(self):
        shutil.rmtree(RUN / "recorder", ignore_errors=True)
        self.log = open(RUN / "recorder.log", "w+")
        self.process = subprocess.Popen([self.whyslow, "record", *self.here], stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=self.log, preexec_fn=lambda: enter([], 0, signal.SIGTERM))
        time.sleep(1)
        if self.process.poll() is not None:
            raise SystemExit(f"the recorder does not start: {pathlib.Path(self.log.name).read_text()}")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.log.close()

    def mark(self, note):
        """Presses the button; the mark's number."""
        said = self.run("mark", note).stdout
        return re.search(r"mark (\d+)", said)[1]


def copy(store, to):
    """A store whose recorder has ended is one file."""
    shutil.copy(store, to)
