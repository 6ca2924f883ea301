"""One case: a scenario with a seed, from its beginning to a folder that can be judged again without playing it again.

DIR/cases/NAME-SEED/ holds
    recording.db   the recorder's store: `whyslow why --from FILE --at 1` asks again
    traces/1.trace the flight recorder's events around the press
    case.json      what was done, the truth, and what `top` showed
    answers/       what each model said at the last judging (judge.py)
"""
import dataclasses
import json
import os
import random
import shutil
import time

import ablation
import life
import recording
import scenes
import score
import tops
import victims
from stage import SceneBroken

SNAPSHOTS_APART = 5  # seconds, as `top` is used
AFTERWARDS = 5.5  # the flight recorder keeps the five seconds after the press as well
CATCHING_UP = 2  # seconds of that are no calm
CALM = (7, 9)  # seconds from the recorder's start, after which everybody catches up, to the injection
CALM_OF_VICTIMS = 32  # where clients time their requests: of a program of which less than half a minute is recorded nothing is known to be unusual
RECORDED_LEAST = 14  # seconds from the recorder's start to the button: what is looked at must not reach back into the catching up
PRESS = (5, 11)  # seconds from the injection to the button


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    scenario: object  # a module of scenarios/
    seed: int

    @property
    def id(self):
        return f"{self.name}-{self.seed}"

    def chance(self, what):
        return random.Random(f"{self.id}/{what}")

    def plan(self):
        """Seconds of calm before, and from the injection to the button."""
        chance = self.chance("plan")
        calm, until_press = chance.uniform(*CALM), chance.uniform(*getattr(self.scenario, "PRESS", PRESS))
        calm = CALM_OF_VICTIMS if self.scenario.GROUP == "reported" else calm
        return (self.scenario.calm(until_press) if hasattr(self.scenario, "calm") else max(calm, RECORDED_LEAST - until_press)), until_press


def folder_of(work, case_id):
    return work / "cases" / case_id


def read_all(work):
    """What is kept of every case that was played to its end, of all backgrounds, oldest first."""
    kept = [{"background": "normal", "ablation": None} | json.loads(path.read_text()) | {"folder": path.parent}
            for folder in (work, *(work / name for name in life.BACKGROUNDS)) for path in (folder / "cases").glob("*/case.json")]
    return sorted(kept, key=lambda case: case["pressed"])


def play(stage, case, baseline):
    """Leaves the case's folder; its case.json comes last."""
    folder = folder_of(stage.kept, case.id)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if not getattr(case.scenario, "WITHOUT_PAST", False):
        recording.copy(baseline, folder / "recording.db")
    before, stage.restored = list(stage.actors), False
    try:
        if hasattr(case.scenario, "prepare"):
            case.scenario.prepare(stage, case.chance("prepare"))
        with recording.Recorder(stage, folder / "recording.db") as recorder:
            kept = act(stage, case, recorder, before)
    finally:
        for actor in [actor for actor in stage.actors if actor not in before]:
            stage.stop(actor)
        if hasattr(case.scenario, "restore") and not stage.restored:
            case.scenario.restore(stage)
    (folder / "case.json").write_text(json.dumps(kept, indent=1))
    return kept | {"folder": folder}


def act(stage, case, recorder, before):
    calm, until_press = case.plan()
    stage.watch(CATCHING_UP)
    calmly = ablation.Phase(before)
    stage.watch(calm - CATCHING_UP)
    stage.expect_alive()
    phases = {"calm": calmly.end()}
    injected = time.time()
    culprits = case.scenario.inject(stage, case.chance("inject"))
    stage.watch(injected + until_press - SNAPSHOTS_APART - time.time())
    slowly = ablation.Phase(actor for actor in before if actor not in culprits)
    earlier, begin = tops.snapshot(), time.monotonic()
    stage.watch(injected + until_press - time.time())
    later, apart = tops.snapshot(), time.monotonic() - begin
    ours = {recorder.process.pid, os.getpid()}.union(*(actor.descendants for actor in stage.actors))
    first = {column: tops.first_two(earlier, later, column, ours) for column in tops.COLUMNS}
    strangers, most = tops.strangers(earlier, later, apart, ours)
    theirs = frozenset().union(*(culprit.descendants for culprit in culprits))
    kernel_part, written_part = tops.kernel_part(earlier, later, theirs), tops.written_part(earlier, later, theirs)
    phases["slow"] = slowly.end()
    late = time.time() - injected - until_press
    unmarked = recorder.why_now()[0]
    pressed = time.time()
    mark = recorder.mark(f"lab: {case.id}")
    marked, took = recorder.why(mark)
    of_victims = victims.ask(stage, recorder, injected - calm + CATCHING_UP, injected, time.time())
    if late > stage.late_at_most:
        raise SceneBroken(f"the button was pressed {late:.0f} s late: others take the whole machine")
    names = [culprit.name for culprit in culprits]
    resource = scenes.expected(case.scenario, names).resource
    if resource == "cpu" and kernel_part is None and getattr(case.scenario, "GUILTY", "program") == "program":
        raise SceneBroken("the culprit used next to no CPU")
    if strangers > stage.strangers_at_most:
        raise SceneBroken(f"others used {strangers:.2f} CPUs, most of it {most}")
    stage.expect_no_failure(culprits)
    stage.watch(pressed + AFTERWARDS - time.time())
    stage.expect_alive(except_for=culprits)
    innocents = [actor for actor in stage.actors if actor not in culprits]
    phases["ended"] = ablation.play(stage, case.scenario, culprits, before)
    truth = score.Truth.of(getattr(case.scenario, "GUILTY", "program"), culprits, innocents, stage.whyslow)
    expected = scenes.expected(case.scenario, names, kernel_part, written_part)
    live = {how: truth.judge(answer, expected) | {"answer": answer, "harmed": victims.listed(answer, of_victims)}
            for how, answer in (("unmarked", unmarked), ("marked", marked))}
    return {"case": case.id, "live": live, "victims": of_victims, "scenario": case.name, "group": case.scenario.GROUP, "seed": case.seed, "background": stage.background,
            "resource": resource, "what": case.scenario.__doc__.strip(), "culprits": names,
            "ablation": phases, "kernel_part": kernel_part, "written_part": written_part,
            "truth": truth.kept(), "tops": first,
            "mark": mark, "has_past": not getattr(case.scenario, "WITHOUT_PAST", False), "calm_from": injected - calm, "injected": injected, "pressed": pressed,
            "seconds_until_press": round(until_press, 1), "live_answer_took": round(took, 3), "strangers_cpus": round(strangers, 3),
            "late_ms": life.worst_lateness(stage, injected + 1, pressed),
            "late_ms_usually": life.worst_lateness(stage, injected - calm + 1.5, injected),
            "machine": recording.describe_machine()}
