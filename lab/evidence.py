"""Answers as tables of evidence (src/machine/findings/evidence.h), and the conditional logit over them (McFadden 1974).

A question has outcomes: its suspects, "nothing is slow" and "slow by what is not listed". The utility of an outcome is a sum of evidence by
weights; its probability is exp(utility) over the sum of all. Strangers are no outcomes: nobody knows whether they are right.
"""
import collections
import dataclasses
import json
import math
import re

import recording
import score

STEPS, STEP_MOST = 12, 1.0  # of the ascent
NOTHING, UNLISTED = "nothing ", "unlisted "  # begin the names of the moment's weights for these outcomes
# towards the weights that the program has today, by how their names begin: so many questions are worth one unit of a weight; of unlisted culprits few cases tell
RIDGE = {NOTHING: 20.0, UNLISTED: 60.0, "": 200.0}
CONFIDENCE = "confidence "  # begins the names of the weights by which it is found (confidence_in() in src/machine/answer-why/verdict.c)
SURE = 0.999  # as there
AS_IT_IS = {"always": 0.0, "odds": 1.0, "shortage": 0.0, "hang": 0.0}  # the confidence is the probability
HANG_ROWS = {"excess", "novelty", "demand", "intent", "breadth", "hold", "certainty"}  # of who has another program wait
FLAT, NEWTON = 0.2, 25  # ridge towards that: so many answers are worth one unit of a weight; steps
BANDS = (0, .3, .5, .7, .8, .9, 1.01)
FIXED = {NOTHING + "marked"}  # who presses a button has a reason: no case can say how often there is none
FALLING = {NOTHING + fact for fact in ("added", "slowdown", "listed")} | {UNLISTED + "listed"}  # evidence against these; all else is never negative but "always"
PART_OF_DAY = 900  # seconds of ordinary work that are a kind of their own
SMALL = 0.15  # of a weight: less says nothing
CALM_PRESSES = 0.5  # for each press at a slow moment
NAMED_LEAST = 0.4  # probability (src/machine/answer-why/verdict.c)
SEEN, UNSEEN, ASKED = 0.25, 0.5, 0.5  # as there
COSTS = 5  # misses: a false accusation (src/machine/answer-why/verdict.c)


@dataclasses.dataclass(frozen=True)
class Question:
    kind: str
    background: str
    outcomes: tuple  # of {name of a weight: evidence}; the last two are "nothing" and "unlisted"
    right: tuple  # of booleans
    marked: bool
    calm: bool
    weight: float = 1.0
    given: bool = False  # that it is slow is given: of a recording that is no longer kept, whose moment has not all that is known of one today


def outcomes_of(answer, is_stranger):
    """(those of the suspects that are known, tables of all outcomes)."""
    suspects = [s for s in answer["culprits"] or answer["candidates"] if (s["score"] or 0) > 0 and s.get("factors") and not is_stranger(s)]
    facts = answer["odds"]["facts"]
    tables = [{f["name"]: math.log(f["factor"]) for f in s["factors"]} for s in suspects]
    return suspects, (*tables, *({outcome + name: x for name, x in facts.items() if x} for outcome in (NOTHING, UNLISTED)))


def is_right(truth, suspect):
    return {"program": truth.did_it(suspect), "limit": suspect["kind"] == "limit", "remote": suspect["kind"] == "host"}.get(truth.guilty, False)


def question_of(case, answer, marked):
    truth = score.Truth.read(case["truth"])
    suspects, outcomes = outcomes_of(answer, truth.is_stranger)
    right = [is_right(truth, s) for s in suspects]
    nothing = truth.guilty == "nobody"
    return Question(case["scenario"], case["background"], outcomes, (*right, nothing, not nothing and not any(right)), marked, nothing)


def questions_of_case(whyslow, case):
    """By its mark, and as if nobody had pressed."""
    kept = recording.Kept(whyslow, case["folder"] / "recording.db")
    pressed = recording.when(case["pressed"])
    return [question_of(case, kept.why(at)[0], marked) for at, marked in ((case["mark"], True), (pressed, False))]


def stranger_comes_first(answer, truth):
    listed = answer["culprits"] or answer["candidates"]
    return bool(listed) and truth.is_stranger(listed[0])


def question_of_calm(whyslow, moment):
    """None where a stranger comes first: nobody knows whether that moment was calm."""
    path, at = moment
    nobody = score.Truth.of("nobody", (), (), whyslow)
    answer = recording.Kept(whyslow, path).why(recording.when(at))[0]
    if stranger_comes_first(answer, nobody):
        return None
    suspects, outcomes = outcomes_of(answer, nobody.is_stranger)
    return Question(f"calm {path}", "calm", outcomes, (*[False] * len(suspects), True, False), False, True)


def question_of_day(day, moment):
    """Of ordinary work (day.py). None where a stranger comes first, or where it was hardly felt."""
    at, mark = moment
    calm, truth, answer = day.state(at), day.truth(at), day.ask(moment)
    if calm is None or stranger_comes_first(answer, truth):
        return None
    suspects, outcomes = outcomes_of(answer, truth.is_stranger)
    right = [not calm and truth.did_it(s) for s in suspects]
    of_rest = (True, mark is not None) if calm else (False, not any(right))
    return Question(f"ordinary {at // PART_OF_DAY:.0f}", "ordinary", outcomes, (*right, *of_rest), mark is not None, calm)


def seen(outcomes):
    """How surely a person saw it who presses the button: what a mark counts (seen() in src/machine/answer-why/verdict.c)."""
    first, nothing = outcomes[0] if len(outcomes) > 2 else {}, outcomes[-2]
    waits = nothing.get(NOTHING + "added", 0) + nothing.get(NOTHING + "slowdown", 0)
    if not HANG_ROWS.isdisjoint(first):
        waits = max(waits, SEEN * math.exp(first.get("demand", 0)) / ASKED)
    elif first:
        waits += math.exp(first.get("shortage", 0) + first.get("bound", 0))
    return UNSEEN + (1 - UNSEEN) * min(1, waits / SEEN)


def marked(question):
    """The same moment, if a user presses the button."""
    counts = seen(question.outcomes)
    outcomes = tuple(one | {outcome + "marked": counts for outcome in (NOTHING, UNLISTED) if outcome + "always" in one} for one in question.outcomes)
    return dataclasses.replace(question, outcomes=outcomes, marked=True)


def pressed(question):
    """The same calm moment, if a user presses the button for a reason that nothing measures: whether it is called slow is no matter, but no
    program may be named."""
    return dataclasses.replace(marked(question), right=(*[False] * (len(question.outcomes) - 2), True, True))


def with_presses(questions):
    return [*questions, *(pressed(q) for q in questions if q.calm and not q.marked)]


def weighed(questions):
    """As many calm moments count as questions without a mark, and presses at them half as many as those with one."""
    slow, calm = (collections.Counter(q.marked for q in questions if q.calm == is_calm) for is_calm in (False, True))
    parts = {False: 1.0, True: CALM_PRESSES}
    return [dataclasses.replace(q, weight=parts[q.marked] * slow[q.marked] / calm[q.marked] if q.calm else 1.0) for q in questions]


def probabilities(question, weigh):
    sums = [sum(weigh.get(name, 0.0) * x for name, x in one.items()) for one in question.outcomes]
    powers = [math.exp(value - max(sums)) for value in sums]
    if question.given:
        powers[-2] = 0.0
    return [power / sum(powers) for power in powers]


def add_slope(question, weigh, places, slope, curve):
    """Adds the slope of log P(one of the right outcomes), and the information (the covariance of the evidence). places: of each weight."""
    p, mean = probabilities(question, weigh), [0.0] * len(slope)
    of_right = max(1e-9, sum(q for q, right in zip(p, question.right) if right))
    for one, q, right in zip(question.outcomes, p, question.right):
        pull, known = question.weight * ((q / of_right if right else 0) - q), [(places[name], x) for name, x in one.items() if name in places]
        for i, x in known:
            slope[i] += pull * x
            mean[i] += q * x
            for k, y in known:
                curve[i][k] += question.weight * q * x * y
    known = [(i, x) for i, x in enumerate(mean) if x]
    for i, x in known:
        for k, y in known:
            curve[i][k] -= question.weight * x * y


def bounded(name, weight):
    if name.endswith("always"):
        return weight
    return min(0.0, weight) if name in FALLING else max(0.0, weight)


def ridge_of(name):
    return next(ridge for begin, ridge in RIDGE.items() if name.startswith(begin))


def fit(questions, today):
    """{name: weight}: the most likely ones, ridge towards today's, by steps of Fisher's scoring; evidence may not change its sign."""
    weigh = dict(today)
    names = [name for name in weigh if name not in FIXED and not name.startswith(CONFIDENCE)]
    ridge, places = [ridge_of(name) for name in names], {name: i for i, name in enumerate(names)}
    for _ in range(STEPS):
        slope = [of * (today[name] - weigh[name]) for of, name in zip(ridge, names)]
        curve = [[of * (i == k) for k in range(len(names))] for i, of in enumerate(ridge)]
        for question in questions:
            add_slope(question, weigh, places, slope, curve)
        free = [i for i, name in enumerate(names) if weigh[name] or bounded(name, slope[i])]  # not those at their bound that want beyond it
        for i, step in zip(free, solve([[curve[i][k] for k in free] for i in free], [slope[i] for i in free])):
            weigh[names[i]] = bounded(names[i], weigh[names[i]] + min(STEP_MOST, max(-STEP_MOST, step)))
    return {name: w if abs(w) >= SMALL else 0.0 for name, w in weigh.items()}


@dataclasses.dataclass
class Verdict:
    """As src/machine/answer-why/verdict.c says it, among those that are known."""

    slow: bool
    named: bool
    right: bool
    probability: float  # of the first suspect
    shortage: float  # its evidence
    confidence: float = 0.0
    hang: bool = False  # it is suspected for a program that waits for it

    def facts(self):
        p = min(SURE, max(1 - SURE, self.probability))
        return {CONFIDENCE + "always": 1.0, CONFIDENCE + "odds": math.log(p / (1 - p)), CONFIDENCE + "shortage": self.shortage, CONFIDENCE + "hang": float(self.hang)}


def verdict(question, weigh):
    p = probabilities(question, weigh)
    *suspects, nothing, unlisted = p
    top = max(suspects, default=0.0)
    named = nothing < 0.5 and top > COSTS * nothing and top >= max(NAMED_LEAST, unlisted)
    first = p.index(top) if suspects else len(p) - 2
    right = question.right[first] if named else (question.right[-2] and (nothing >= 0.5 or question.right[-1]))
    said = Verdict(nothing < 0.5, named, right, top, question.outcomes[first].get("shortage", 0.0), hang=not HANG_ROWS.isdisjoint(question.outcomes[first]))
    return dataclasses.replace(said, confidence=logistic(weigh, said.facts()))


def logistic(weigh, facts):
    return 1 / (1 + math.exp(-sum(weigh.get(name, 0.0) * x for name, x in facts.items())))


def fit_confidence(verdicts):
    """{name: weight} of the logistic regression of "the first suspect is right" over answers that name one (Platt 1999), by Newton's
    steps; the ridge is towards the probability as it is. Each right answer counts (n + 1) / (n + 2) and each wrong one 1 / (m + 2), as Platt has it."""
    named = [v for v in verdicts if v.named]
    right = sum(v.right for v in named)
    target = {True: (right + 1) / (right + 2), False: 1 / (len(named) - right + 2)}
    names = [CONFIDENCE + name for name in AS_IT_IS]
    weigh = begin = dict(zip(names, AS_IT_IS.values()))
    for _ in range(NEWTON if named else 0):
        slope = [FLAT * (begin[name] - weigh[name]) for name in names]
        curve = [[FLAT * (i == k) for k in range(len(names))] for i in range(len(names))]
        for v in named:
            facts, p = v.facts(), logistic(weigh, v.facts())
            for i, name in enumerate(names):
                slope[i] += (target[v.right] - p) * facts[name]
                for k, other in enumerate(names):
                    curve[i][k] += p * (1 - p) * facts[name] * facts[other]
        weigh = {name: weigh[name] + step for name, step in zip(names, solve(curve, slope))}
    return weigh


def solve(matrix, right):
    """Of a positive definite matrix (Gauss, without pivots)."""
    rows = [[*row, value] for row, value in zip(matrix, right)]
    for i, pivot in enumerate(rows):
        for row in rows[i + 1:]:
            factor = row[i] / pivot[i]
            row[:] = [x - factor * y for x, y in zip(row, pivot)]
    found = []
    for i in reversed(range(len(rows))):
        found.insert(0, (rows[i][-1] - sum(x * y for x, y in zip(rows[i][i + 1:-1], found))) / rows[i][i])
    return found


def bands(verdicts):
    """[(low, high, mean confidence, right, n)] of those that name a program."""
    inside = [(low, high, [v for v in verdicts if v.named and low <= v.confidence < high]) for low, high in zip(BANDS, BANDS[1:])]
    return [(low, min(1, high), sum(v.confidence for v in some) / len(some), sum(v.right for v in some), len(some)) for low, high, some in inside if some]


def calibration_error(verdicts):
    """The expected one: how far the mean confidence of a band lies from the share that is right, by how many are in it."""
    found = bands(verdicts)
    return sum(abs(mean * n - right) for _, _, mean, right, n in found) / sum(n for *_, n in found) if found else 0.0


def separation(verdicts):
    """AUROC: how often a right answer has a higher confidence than a wrong one; None where there are not both."""
    right, wrong = ([v.confidence for v in verdicts if v.named and v.right == is_right] for is_right in (True, False))
    won = sum((a > b) + (a == b) / 2 for a in right for b in wrong)
    return won / len(right) / len(wrong) if right and wrong else None


def without_own_kind(questions, today, utilities=True):
    """[(question, verdict)] by weights fitted on all other kinds; without utilities only those of the confidence are fitted."""
    found = []
    for kind in dict.fromkeys(q.kind for q in questions):
        others = [q for q in questions if q.kind != kind]
        weigh = fit(weighed(others), today) if utilities else today
        weigh = weigh | fit_confidence([verdict(q, weigh) for q in others])
        found += [(q, verdict(q, weigh)) for q in questions if q.kind == kind]
    return found


def read_weights(path):
    """{name: weight} of src/machine/findings/weights.h."""
    weights, of = {}, ""
    for line in path.read_text().splitlines():
        if table := re.match(r"static const double (\w+)_weights", line):
            of = {"evidence": ""}.get(table[1], table[1] + " ")
        elif row := re.match(r"\t\[(?:EVIDENCE|MOMENT|CONFIDENCE)_(\w+)\] = ([-.\d]+),", line):
            weights[of + row[1].lower().replace("_", "-")] = float(row[2])
    return weights


def write_weights(path, weights, told):
    """The same lines with other numbers, and what is told of them in the comment above."""
    lines, of = [], ""
    for line in path.read_text().splitlines():
        if table := re.match(r"static const double (\w+)_weights", line):
            of = {"evidence": ""}.get(table[1], table[1] + " ")
        elif row := re.match(r"(\t\[(?:EVIDENCE|MOMENT|CONFIDENCE)_(\w+)\] = )", line):
            line = f"{row[1]}{weights[of + row[2].lower().replace('_', '-')]:.3g},"
        elif line.startswith(" * Fitted"):
            line = f" * Fitted {told} */"
        elif lines and lines[-1].startswith(" * Fitted") and line.startswith(" * "):
            continue  # more of the old comment
        lines.append(line)
    path.write_text("\n".join(lines) + "\n")


def as_kept(question):
    """A line that is small enough for the repository: who has hardly a part of the odds is left out, unless it is right."""
    odds = [math.exp(sum(one.values())) for one in question.outcomes]
    least = 0.01 * max(odds[:-2], default=0)
    kept = [i for i, of in enumerate(odds) if of >= least or question.right[i] or i >= len(odds) - 2]
    return json.dumps({"kind": question.kind.rpartition("/")[2], "background": question.background, "marked": question.marked, "calm": question.calm,
                       **({"given": True} if question.given else {}),
                       "right": [question.right[i] for i in kept],
                       "outcomes": [{name: round(x, 3) for name, x in question.outcomes[i].items() if x} for i in kept]})


def read_kept(path):
    kept = [json.loads(line) for line in path.read_text().splitlines()]
    return [Question(**one | {"outcomes": tuple(one["outcomes"]), "right": tuple(one["right"])}) for one in kept]
