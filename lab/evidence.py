"""Answers as tables of evidence: of each suspect the weights (logarithms of factors, `why --evidence`) whose sum ranks it.

A conditional logit over the suspects of each case (McFadden 1974): P(i) = exp(sum w_e x_ie) / sum over j. Today's scores are w = 1.
"""
import dataclasses
import math

import recording
import score

RIDGE = 1.0  # towards today's weights
STEPS, STEP = 200, 0.05  # of the ascent


@dataclasses.dataclass(frozen=True)
class Choice:
    """One case: its suspects' weights by name, and which of them are right."""

    kind: str
    suspects: tuple  # of dictionaries
    right: tuple  # of booleans

    def is_first_right(self, weigh):
        sums = [sum(weigh.get(name, 1.0) * x for name, x in one.items()) for one in self.suspects]
        return self.right[sums.index(max(sums))]


def choice_of(case, answer):
    """None where no program is guilty, or none of those listed is: no weight could make that answer right."""
    truth = score.Truth.read(case["truth"])
    suspects = [s for s in truth.suspects_of(answer) if s["score"] > 0 and s.get("factors")]
    right = tuple(truth.did_it(s) for s in suspects)
    if truth.guilty != "program" or not any(right):
        return None
    return Choice(case["scenario"], tuple({f["name"]: f["weight"] for f in s["factors"]} for s in suspects), right)


def choices_of(whyslow, cases):
    asked = ((case, recording.Kept(whyslow, case["folder"] / "recording.db").why(case["mark"])[0]) for case in cases)
    return [choice for choice in (choice_of(case, answer) for case, answer in asked) if choice]


def names_of(choices):
    return list(dict.fromkeys(name for choice in choices for one in choice.suspects for name in one))


def first_right(choices, weigh):
    return sum(choice.is_first_right(weigh) for choice in choices), len(choices)


def probabilities(choice, weigh):
    sums = [sum(weigh[name] * x for name, x in one.items()) for one in choice.suspects]
    powers = [math.exp(value - max(sums)) for value in sums]
    return [power / sum(powers) for power in powers]


def slope_of(choice, weigh, slope):
    """Adds the slope of log P(one of the right ones is chosen)."""
    p = probabilities(choice, weigh)
    of_right = sum(q for q, right in zip(p, choice.right) if right)
    for one, q, right in zip(choice.suspects, p, choice.right):
        pull = (q / of_right if right else 0) - q
        for name, x in one.items():
            slope[name] += pull * x


def fit(choices):
    """{name: weight}: the most likely ones, ridge towards today's; none is negative: evidence may not change its sign."""
    weigh = dict.fromkeys(names_of(choices), 1.0)
    for _ in range(STEPS):
        slope = {name: RIDGE * (1 - w) for name, w in weigh.items()}
        for choice in choices:
            slope_of(choice, weigh, slope)
        weigh = {name: max(0.0, w + STEP * slope[name] / max(1, len(choices) / 10)) for name, w in weigh.items()}
    return weigh


def without_own_kind(choices):
    """First right by weights fitted on all other kinds, of how many."""
    hits = 0
    for kind in sorted({choice.kind for choice in choices}):
        weigh = fit([choice for choice in choices if choice.kind != kind])
        hits += sum(choice.is_first_right(weigh) for choice in choices if choice.kind == kind)
    return hits, len(choices)
