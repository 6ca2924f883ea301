"""One case: a scenario with a seed, from its beginning to what everybody said about it."""
import dataclasses
import random
import time

import life
import recording
import score
import tops

MODELS = ("robust", "gaussian")
SNAPSHOTS_APART = 5  # seconds, as `top` is used


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    scenario: object  # a module of scenarios/
    seed: int

    @property
    def id(self):
        return f"{self.name}-{self.seed}"

    def plan(self):
        """Seconds of calm before, and from the injection to the button."""
        chance = random.Random(self.id)
        slow_after = getattr(self.scenario, "SLOW_AFTER", 5)
        return chance.uniform(6, 9), slow_after + chance.uniform(0, 14)


def play(stage, case, baseline, innocents):
    """Returns the case's result: what is kept as one line of JSON."""
    calm, until_press = case.plan()
    store = stage.work / "recordings" / f"{case.id}.db"
    store.parent.mkdir(exist_ok=True)
    recording.copy(baseline, store)
    if hasattr(case.scenario, "prepare"):
        case.scenario.prepare(stage)
    with recording.Recorder(stage, store) as recorder:
        time.sleep(calm)
        injected = time.time()
        culprits = case.scenario.inject(stage)
        try:
            time.sleep(max(0, until_press - SNAPSHOTS_APART))
            before = tops.snapshot()
            time.sleep(min(SNAPSHOTS_APART, until_press))
            result = ask(stage, recorder, case, culprits, innocents, before)
        finally:
            for culprit in culprits:
                stage.stop(culprit)
            if hasattr(case.scenario, "restore"):
                case.scenario.restore(stage)
    pressed = injected + until_press
    return result | {"case": case.id, "scenario": case.name, "group": case.scenario.GROUP, "seed": case.seed,
                     "what": case.scenario.__doc__.strip(), "seconds_until_press": round(until_press, 1),
                     "late_ms": life.worst_lateness(stage, injected + 1, pressed),
                     "late_ms_usually": life.worst_lateness(stage, injected - calm, injected - 1),
                     "recording": str(store)}


def ask(stage, recorder, case, culprits, innocents, before):
    after = tops.snapshot()
    stage.expect_alive()
    mark = recorder.mark(f"lab: {case.id}")
    truth = score.Truth(culprits, innocents, case.scenario.FEATURES)
    answers = ask_models(recorder, mark, truth)
    for column in tops.COLUMNS:
        answers[f"top by {column}"] = truth.judge_pids(tops.first_two(before, after, column))
    return {"culprits": [culprit.name for culprit in culprits], "answers": answers, "words": recorder.words(mark), "mark": mark,
            "truth": truth.kept()}


def ask_models(asked, mark, truth):
    said = {model: asked.why(mark, model) for model in MODELS}
    return {model: truth.judge(answer) | {"took": round(took, 3)} for model, (answer, took) in said.items()}


def ask_again(stage, result):
    """The same case, judged from its recording by today's models."""
    kept = recording.Kept(stage.whyslow, result["recording"])
    answers = ask_models(kept, result["mark"], score.Truth.read(result["truth"]))
    return result | {"answers": result["answers"] | answers, "words": kept.words(result["mark"])}
