"""What each model says of the cases that were kept. Nothing is provoked here: a changed model is measured in a minute."""
import collections
import concurrent.futures
import json
import os
import random

import ablation
import life
import paper
import recording
import scenes
import score
import tops
import trivial

MODELS = {  # name in the tables -> options of `why`; a model that this whyslow does not know is left out
    "gaussian": ("--model", "gaussian"),
    "the paper's": ("--model", "gaussian", "--window-mode", "block", "--window", "4h"),  # literally: 4 h, the event included
    "blame": ("--model", "blame"),
}
BARE = ("trivial", *paper.SAMPLED)  # they order programs and say no more (trivial.py, paper.py)
ALWAYS_RANKS = {"the paper's"}  # it says who is least likely, and never that nothing is slow
PAST_AT_LEAST = 2 * life.NIGHTLY_EVERY + 10  # seconds of the baseline before a calm moment of it: what comes every night came before
CALM_AT_LEAST = 5  # seconds, after a recorder's start: everybody stood still, and catches up
QUIET = 0.1  # CPUs' worth of work by programs that are not the lab's: more, and a moment is not calm
LOOKED_AT = 15  # seconds before a moment: a moment with work of others in them is not calm
MOMENTS_OF_RECORDING = 150  # of a recording in which nothing is provoked at all (run --calm)


def judge_case(whyslow, case, models=tuple(MODELS)):
    """The case with `answers` beside it: who said what, and whether it was right."""
    expected = scenes.expected_of(case)
    kept = recording.Kept(whyslow, case["folder"] / "recording.db")
    truth = score.Truth.read(case["truth"])
    answers = {}
    (case["folder"] / "answers").mkdir(exist_ok=True)
    for model in models:
        answer, took = kept.why(case["mark"], *MODELS[model])
        if answer:
            answer["slow"] |= model in ALWAYS_RANKS
            (case["folder"] / "answers" / f"{model}.json").write_text(json.dumps(answer, indent=1))
            answers[model] = truth.judge(answer, expected) | {"took": round(took, 3)}
    rows = list(trivial.rows(kept))
    answers["trivial"] = truth.judge_ranking(trivial.rank(rows, case["pressed"]))
    for name, every in paper.SAMPLED.items():
        answers[name] = truth.judge_ranking(paper.rank(rows, case["pressed"], every, paper.features_of(whyslow)))
    for column in tops.COLUMNS:
        answers[f"top by {column}"] = truth.judge_top(case["tops"][column])
    return case | {"answers": answers, "resource": expected.resource, "gone": ablation.gone(case, truth, kept.rows())}


def in_parallel(work, things):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, things))


def judge_all(whyslow, cases, models=tuple(MODELS)):
    return in_parallel(lambda case: judge_case(whyslow, case, models), cases)


def strangers_by_second(kept):
    """{Unix second: CPUs' worth of work by programs that are not the lab's}."""
    used = collections.Counter()
    for at, row in kept.rows():
        exe = row.get("exe")
        if row["kind"] == "process" and exe and not exe.endswith("/whyslow") and score.STAGE not in (row.get("unit") or ""):
            used[int(at)] += row["values"].get("cpu.time", 0) / 1e9
    return used


def without_strangers(whyslow, moments):
    """Those before which others used next to nothing of the machine."""
    def quiet(path):
        used = strangers_by_second(recording.Kept(whyslow, path))
        return lambda at: sum(used[int(at) - i] for i in range(LOOKED_AT)) / LOOKED_AT <= QUIET
    paths = list(dict.fromkeys(path for path, _ in moments))
    is_quiet = dict(zip(paths, in_parallel(quiet, paths)))
    return [(path, at) for path, at in moments if is_quiet[path](at)]


def calm_moments(whyslow, work):
    """(recording, Unix time): the same ones each time, at which nothing was provoked, of all backgrounds."""
    moments = []
    for folder in (work, *(work / name for name in life.BACKGROUNDS)):
        if (folder / "baseline.json").exists():
            moments += [(folder / "baseline.db", at) for at in moments_of(json.loads((folder / "baseline.json").read_text()))]
        moments += moments_of_calm(folder)
    return without_strangers(whyslow, moments)


def moments_of_calm(folder):
    moments = []
    for path in sorted((folder / "calm").glob("*.json")):
        chance, (begin, end) = random.Random(path.stem), json.loads(path.read_text())
        moments += [(path.with_suffix(".db"), chance.uniform(begin + CALM_AT_LEAST, end)) for _ in range(MOMENTS_OF_RECORDING)]
    return moments


def moments_of(spans):
    """Of a baseline that was recorded in pieces, [[begin, end], ...]: not of its first seconds, they have no past."""
    chance = random.Random("baseline")
    spans = [(begin + (PAST_AT_LEAST if i == 0 else CALM_AT_LEAST), end) for i, (begin, end) in enumerate(spans)]
    spans = [(begin, end) for begin, end in spans if begin < end]
    chosen = chance.choices(spans, [end - begin for begin, end in spans], k=MOMENTS_OF_RECORDING) if spans else []
    return [chance.uniform(*span) for span in chosen]


def judge_calm(whyslow, moments, models, recorder):
    """{model: [accused at that moment or None]}: whoever is named guilty by an answer that says the machine is slow."""
    nobody = score.Truth.of("nobody", (), (), recorder)

    def ask(moment):
        path, at = moment
        kept, when = recording.Kept(whyslow, path), recording.when(at)
        said = {model: kept.why(when, *MODELS[model])[0] for model in models}
        return {model: who_is_accused(nobody, answer) for model, answer in said.items() if answer}
    told = in_parallel(ask, moments)
    return {model: [(str(moment[0]), moment[1], each[model]) for moment, each in zip(moments, told)]
            for model in (told[0] if told else {})}


def who_is_accused(nobody, answer):
    """None also where a stranger is named first: nobody knows whether the moment was calm."""
    suspects = nobody.suspects_of(answer)
    return score.named(suspects[0]) if suspects and not nobody.is_stranger(answer["culprits"][0]) else None
