"""Right or wrong, and how sure one can be of it."""
import dataclasses
import math

SHARED_GUILT = 1 / 3  # who has this share of the first one's score is accused too
SCALELESS = {"gaussian"}  # models whose scores are no proportions: only their first one is accused
STAGE = "whyslow-lab"  # in the names of the lab's control groups
NOT_IT = {"limit", "host"}  # kinds of suspects: its limit is to blame, or whom it asks; the program itself is not accused
ON_STAGE = {"process", "group"} | NOT_IT  # kinds of suspects that are in a control group
NOT_THE_MACHINE = {"remote", "network", "none"}


@dataclasses.dataclass(frozen=True)
class Truth:
    """Who did it and who did not.

    guilty is "program", or what is to blame where no program is: "limit" (a quota), "remote" (somebody else's machine),
    "nobody" (nothing is slow). Pids decide; an executable or a name only where the pid is no innocent's, so that one
    ffmpeg may be guilty beside another one.
    """

    guilty: str
    pids: frozenset
    exes: frozenset
    names: frozenset
    innocents: dict  # pid -> name
    recorder: str = ""  # the recorder's executable: it is on the stage as well

    @classmethod
    def of(cls, guilty, culprits, innocents, recorder=""):
        def together(get):
            return frozenset().union(*map(get, culprits))
        pids = together(lambda actor: actor.descendants)
        others = {pid: actor.name for actor in innocents for pid in actor.descendants if pid not in pids}
        return cls(guilty, pids, together(lambda actor: actor.exes), together(lambda actor: actor.names),
                   others, recorder)

    def kept(self):
        """As it is kept beside a recording."""
        return {"guilty": self.guilty, "pids": sorted(self.pids), "exes": sorted(self.exes),
                "names": sorted(self.names), "innocents": sorted(self.innocents.items()), "recorder": self.recorder}

    @classmethod
    def read(cls, kept):
        return cls(kept["guilty"], frozenset(kept["pids"]), frozenset(kept["exes"]),
                   frozenset(kept["names"]), dict(kept["innocents"]), kept["recorder"])

    def is_elsewhere(self, suspect):
        """Known to be in no control group of the lab, whatever its pid: pids are used again."""
        unit = suspect.get("unit")
        return bool(unit) and STAGE not in unit and suspect["exe"] != self.recorder and suspect.get("kind") in ON_STAGE

    def did_it(self, suspect):
        if self.is_elsewhere(suspect):
            return False
        if suspect["pid"] in self.pids:
            return True
        known = suspect["exe"] in self.exes or (not suspect["exe"] and suspect["name"] in self.names)
        return known and suspect["pid"] not in self.innocents

    def is_stranger(self, suspect):
        """Somebody else's program on this machine: nobody knows whether it is innocent."""
        if self.is_elsewhere(suspect):
            return True
        if suspect.get("kind") not in ("process", "group") or self.did_it(suspect) or suspect["pid"] in self.innocents:
            return False
        return STAGE not in (suspect.get("unit") or "") and suspect["exe"] != self.recorder

    def suspects_of(self, answer):
        return [suspect for suspect in answer["culprits"] if not self.is_stranger(suspect)] if answer["slow"] else []

    def ranks(self, answer):
        """For each of those named, whether it is right to name him at that place."""
        suspects = self.suspects_of(answer)
        if self.guilty == "program":
            return [self.did_it(suspect) for suspect in suspects]
        if self.guilty == "limit":
            return [answer["bottleneck"] == "quota"] + [suspect.get("kind") == "limit" for suspect in suspects]
        if self.guilty == "remote":
            return [not suspects or answer["bottleneck"] in NOT_THE_MACHINE or suspects[0].get("kind") == "host"]
        return [not suspects]

    def judge(self, answer, expected):
        """expected: what it should say of whom it names rightly (scenes.Expected)."""
        suspects, right = self.suspects_of(answer), self.ranks(answer)
        features = [feature["name"] for feature in suspects[0]["features"]] if suspects else []
        return {
            "first": named(suspects[0]) if suspects else None,
            "second": named(suspects[1]) if suspects[1:] else None,
            "process": right[:1] == [True],
            "of_two": any(right[:2]),
            "unclear": not suspects or answer["bottleneck"] == "unclear",
            "feature_named": features[0] if features else None,
            "resources": list(dict.fromkeys(feature["resource"] for feature in suspects[0]["features"])) if suspects else [],
            "accused": self.accused(answer),
            "passed_over": answer["slow"] and self.suspects_of(answer)[:1] != answer["culprits"][:1],
            "slow": answer["slow"],
            "confidence": answer["confidence"],
            "bottleneck": answer["bottleneck"],
            "cause": answer["cause"],
            "explains": self.explained(answer),
            "error": None if right[:1] == [True] else self.error_of(answer),
        } | self.judge_words(answer, expected, right[:1] == [True], features, suspects[:1] == answer["culprits"][:1])

    def error_of(self, answer):
        """What a wrong answer is, by the first that it lists, strangers not passed over."""
        if not answer["slow"]:
            return "nothing is slow"
        if not answer["culprits"]:
            return "no program is named"
        first = answer["culprits"][0]
        if first.get("kind") == "kernel":
            return "a kernel worker"
        if self.is_stranger(first):
            return "a stranger, then not the culprit"
        return "a bystander" if first["pid"] in self.innocents else "the recorder or something else"

    def explained(self, answer):
        """[share, low, high] of the added waiting that the answer puts on the culprits' account; None where it says nothing of it."""
        told = [s.get("explains") for s in self.suspects_of(answer) if self.did_it(s)]
        return [min(1.0, sum(one[what] for one in told)) for what in ("share", "low", "high")] if told and all(told) else None

    def judge_words(self, answer, expected, right, features, of_first):
        """Cause and feature, strictly and tolerably; None where nobody is named rightly, and of a sentence that is about a stranger."""
        causes = expected.judge_cause(answer["cause"]) if right and (of_first or not answer["slow"]) else (None, None)
        found = expected.judge_feature(features[0]) if right and features and self.guilty == "program" else (None, None)
        return {"cause_strict": causes[0], "words": causes[1], "feature_strict": found[0], "feature": found[1]}

    def accused(self, answer):
        """Innocents that the answer names as guilty."""
        suspects = self.suspects_of(answer)
        if not suspects:
            return []
        enough = suspects[0]["score"] * SHARED_GUILT
        named_guilty = suspects[:1] if answer["model"] in SCALELESS else [
            suspect for suspect in suspects if suspect["score"] >= enough]
        return [self.innocents[s["pid"]] for s in named_guilty if s["pid"] in self.innocents and not self.did_it(s) and s.get("kind") not in NOT_IT]

    def judge_ranking(self, suspects):
        """A bare order of programs (trivial.py), strangers left out: like `top` it cannot say that no program is to blame."""
        known = [s for s in suspects if self.did_it(s) or s["pid"] in self.innocents]
        counts, right = self.guilty == "program", [self.did_it(suspect) for suspect in known[:2]]
        return {"first": known[0]["name"] if known else None, "second": known[1]["name"] if known[1:] else None,
                "process": right[:1] == [True] if counts else None, "of_two": any(right) if counts else None}

    def judge_top(self, first_two):
        """[[pid, name], ...]. `top` cannot say that no program is to blame: such cases are not counted for it."""
        pids = [pid for pid, _ in first_two]
        counts = self.guilty == "program"
        return {
            "first": first_two[0][1] if first_two else None,
            "second": first_two[1][1] if first_two[1:] else None,
            "process": pids[:1] != [] and pids[0] in self.pids if counts else None,
            "of_two": any(pid in self.pids for pid in pids) if counts else None,
        }


def named(suspect):
    return suspect.get("label") or suspect["name"]


def wilson(hits, n, z=1.959964):
    """The 95 % interval of a proportion (Wilson 1927)."""
    if not n:
        return 0.0, 1.0
    p = hits / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def proportion(hits, n):
    low, high = wilson(hits, n)
    return f"{hits}/{n} {100 * hits / n:.0f} % ({100 * low:.0f}-{100 * high:.0f})" if n else "-"
