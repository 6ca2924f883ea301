"""Ordinary work that was recorded (lab/ordinary), and what is known of each moment of it."""
import json
import random

import life
import recording
import score
import work

PAST = 300  # seconds of a recording before the first moment that is asked about
LOOKS_BACK, WINDOW = 15, 5  # seconds: an answer looks for an incident so far back (PRESSURE_REACTION); in so many the editor's median counts
CALM, SLOW = 10, 20  # milliseconds: the editor is later at worst in half of the seconds of a window


def written_lateness(stage, begin, end):
    """{Unix second: milliseconds}: the editor's worst."""
    lines = (line.split() for line in life.lateness_file(stage).read_text().splitlines())
    return {int(at): float(worst) for at, worst in lines if begin <= int(at) <= end}


def lateness_at(late, at):
    """Milliseconds: the editor's, of the worst WINDOW seconds among those that an answer looks for an incident in; NaN: it said nothing."""
    windows = [sorted(late[second] for second in range(end - WINDOW, end) if second in late) for end in range(int(at) - LOOKS_BACK, int(at) + 1)]
    return max((some[len(some) // 2] for some in windows if some), default=float("nan"))


def state_of(late):
    """True: calm; False: slow; None: it is hardly felt, or not known."""
    return True if late < CALM else False if late >= SLOW else None


class Day:
    """One recording, and what is known of it."""

    def __init__(self, whyslow, path):
        self.kept, self.known, self.name = recording.Kept(whyslow, path.with_suffix(".db")), json.loads(path.read_text()), path.stem
        self.late = {int(at): worst for at, worst in self.known["late"].items()}

    def seconds(self):
        return self.known["end"] - self.known["begin"]

    def moments(self, count):
        """(Unix time, mark or None): random moments, and the presses."""
        chance = random.Random(self.name)
        return [(chance.uniform(self.known["begin"] + PAST, self.known["end"]), None) for _ in range(count)] + self.known["presses"]

    def lateness(self, at):
        return lateness_at(self.late, at)

    def state(self, at):
        return state_of(self.lateness(at))

    def being_done(self, at):
        return [task for task in self.known["tasks"] if task["begin"] < at and task["end"] > at - LOOKS_BACK - WINDOW]

    def truth(self, at):
        """The culprits are all that take part in what was being done."""
        tasks, always = self.being_done(at), self.known["bystanders"]
        asked = {pid for pid, name in always["innocents"] if name == "postgres"} if any(task["name"] in work.DATABASE for task in tasks) else set()
        return score.Truth("program", frozenset(pid for task in tasks for pid in task["pids"]) | asked, frozenset(exe for task in tasks for exe in task["exes"]),
                           frozenset(name for task in tasks for name in task["names"]), {pid: name for pid, name in always["innocents"] if pid not in asked},
                           always["recorder"])

    def ask(self, moment):
        """The answer about it, as a dictionary."""
        at, mark = moment
        return self.kept.why(mark or recording.when(at))[0]


def days(whyslow, folder):
    """All that are kept below that folder."""
    return [Day(whyslow, path) for path in sorted((folder / "ordinary/days").glob("*.json"))]


def named_of(answer, truth):
    named = answer["culprits"][:1] if answer["slow"] else []
    return "nobody" if not named else "work" if truth.did_it(named[0]) else "stranger" if truth.is_stranger(named[0]) else "bystander"
