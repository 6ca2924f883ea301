"""Right or wrong, and how sure one can be of it."""
import math
import pathlib

SHARED_GUILT = 1 / 3  # who has this share of the first one's score is accused too
SCALELESS = {"gaussian"}  # models whose scores are no proportions: only their first one is accused


class Truth:
    """Who did it, who did not, and which features count as right."""

    def __init__(self, culprits, innocents, features):
        self.features = set(features)
        self.guilty_exes = {actor.exe for actor in culprits}
        self.guilty_pids = set().union(*(actor.pids() for actor in culprits))
        self.innocents = {actor.process.pid: actor.name for actor in innocents}

    def kept(self):
        """As it is kept beside a recording."""
        return {"features": sorted(self.features), "exes": sorted(self.guilty_exes), "pids": sorted(self.guilty_pids),
                "innocents": [[pid, name] for pid, name in self.innocents.items()]}

    @classmethod
    def read(cls, kept):
        truth = cls([], [], kept["features"])
        truth.guilty_exes, truth.guilty_pids = set(kept["exes"]), set(kept["pids"])
        truth.innocents = dict(kept["innocents"])
        return truth

    def is_guilty(self, suspect):
        return suspect["pid"] in self.guilty_pids or suspect["exe"] in self.guilty_exes

    def judge(self, answer):
        suspects = answer["culprits"]
        right = [self.is_guilty(suspect) for suspect in suspects]
        feature = suspects[0]["features"][0]["name"] if suspects and suspects[0]["features"] else None
        return {
            "first": named(suspects[0]) if suspects else None,
            "second": named(suspects[1]) if suspects[1:] else None,
            "process": right[:1] == [True],
            "of_two": any(right[:2]),
            "feature_named": feature,
            "feature": right[:1] == [True] and feature in self.features,
            "accused": self.accused(answer),
            "slow": answer["slow"],
            "bottleneck": answer["bottleneck"],
            "rank": right.index(True) + 1 if True in right else None,
        }

    def accused(self, answer):
        """Innocents of the background that the answer names as guilty."""
        suspects = answer["culprits"]
        if not answer["slow"] or not suspects:
            return []
        enough = suspects[0]["score"] * SHARED_GUILT
        named_guilty = suspects[:1] if answer["model"] in SCALELESS else [
            suspect for suspect in suspects if suspect["score"] >= enough]
        return [self.innocents[s["pid"]] for s in named_guilty if s["pid"] in self.innocents]

    def judge_pids(self, pids):
        return {
            "first": comm(pids[0]) if pids else None,
            "second": comm(pids[1]) if pids[1:] else None,
            "process": bool(pids) and pids[0] in self.guilty_pids,
            "of_two": any(pid in self.guilty_pids for pid in pids),
        }


def named(suspect):
    return suspect.get("label") or suspect["name"]


def comm(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "?"


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
    return f"{hits}/{n} {100 * hits / n:3.0f} % ({100 * low:.0f}-{100 * high:.0f})" if n else "-"
