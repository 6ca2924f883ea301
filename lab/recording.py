"""whyslow as a user has it: only its command line."""
import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import time

from stage import RUN, enter


def when(unix):
    """A moment as the command line takes it."""
    return datetime.datetime.fromtimestamp(unix).strftime("%Y-%m-%d %H:%M:%S")


class Asked:
    """What can be asked of a recording; `here` says where it is."""

    whyslow, here = None, []

    def logged(self):
        """What the recorder wrote, where there is one."""
        return ""

    def run(self, *arguments):
        return subprocess.run([self.whyslow, *arguments, *self.here], capture_output=True, text=True, check=False)

    def why(self, at, *options):
        """The answer as a dictionary, and how many seconds it took. None: this whyslow has no such model."""
        return self._ask("--at", str(at), *options)

    def why_now(self):
        """The same, as one asks who has pressed no button."""
        return self._ask()

    def _ask(self, *options):
        begin = time.monotonic()
        said = self.run("why", "--json", *options)
        took = time.monotonic() - begin
        if said.returncode == 2 and "no model" in said.stderr:
            return None, took
        if said.returncode > 1:
            raise RuntimeError(f"why {' '.join(options)}: {said.stderr.strip()}; {self.logged()}")
        return json.loads(said.stdout), took

    def rows(self):
        """(Unix time, what was recorded) of each process, device and second: `export`'s lines."""
        for line in self.run("export", "--format", "jsonl", "--since", "2000-01-01").stdout.splitlines():
            row = json.loads(line)
            yield datetime.datetime.fromisoformat(row["time"]).timestamp(), row

    def words(self, mark, *options):
        return self.run("why", "--at", str(mark), *options).stdout


class Kept(Asked):
    """The recording of a case that is over."""

    def __init__(self, whyslow, store):
        self.whyslow, self.here = whyslow, ["--from", str(store)]


class Recorder(Asked):
    """A recorder with a store of its own; a context."""

    def __init__(self, stage, store):
        self.stage, self.whyslow, self.store = stage, stage.whyslow, pathlib.Path(store)
        self.here = ["--run-dir", str(RUN / "recorder")]  # as users do: the recorder answers

    def __enter__(self):
        """Comes back when it records. Everybody else stands still until then: on a machine that has other things to do its
        programs for the kernel would take half a minute to load."""
        self.stage.groups.freeze(True)
        try:
            self._start()
        finally:
            self.stage.groups.freeze(False)
        return self

    def _start(self):
        shutil.rmtree(RUN / "recorder", ignore_errors=True)
        self.log = open(RUN / "recorder.log", "w+")
        record = [self.whyslow, "record", "--store", str(self.store), *self.here]
        self.process = subprocess.Popen(record, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        preexec_fn=lambda: enter([], -20, signal.SIGTERM))
        for _ in range(300):
            if any((RUN / "recorder").glob("journal/*")) or self.process.poll() is not None:
                break
            time.sleep(0.1)
        if self.process.poll() is not None:
            raise SystemExit(f"the recorder does not start: {pathlib.Path(self.log.name).read_text()}")
        for thread in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            os.setpriority(os.PRIO_PROCESS, int(thread.name), 0)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.log.close()

    def logged(self):
        return pathlib.Path(self.log.name).read_text()

    def mark(self, note):
        """Presses the button; the mark's number."""
        said = self.run("mark", note).stdout
        return re.search(r"mark (\d+)", said)[1]


def copy(store, to):
    """A store whose recorder has ended is one file."""
    shutil.copy(store, to)


def describe_machine():
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 30
    return f"{os.cpu_count()} CPUs ({cpu_name()}), {memory} GiB of memory, Linux {platform.release()}"


def cpu_name():
    names = re.findall(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return names[0].removesuffix(" Processor") if names else platform.machine()
