"""The files of scenarios/, by name."""
import dataclasses
import importlib.util
import pathlib

from resources import STRICT

HERE = pathlib.Path(__file__).parent
SAME = {"cpu-group": "cpu"}  # one cause in two sentences: a program of one process, or of several
COMPUTES = {"cpu", "kernel-work"}  # which of them is true is measured while the case is played
MOVES = {"disk-read", "disk-write"}  # so is this, or whether it is both


@dataclasses.dataclass(frozen=True)
class Expected:
    """What an answer about a case should say: strictly, and what is tolerable (which holds what is strictly right)."""

    resource: str
    cause: frozenset
    causes: frozenset
    feature: frozenset
    features: frozenset

    def judge_cause(self, cause):
        """(strictly right, tolerable)."""
        strict = SAME.get(cause, cause) in self.cause
        return strict, strict or cause in self.causes

    def judge_feature(self, feature):
        return feature in self.feature, feature in self.features


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def choose(names):
    """Scenarios by name: {name: module}."""
    every = {path.stem: load(path) for path in sorted((HERE / "scenarios").glob("*.py"))}
    if not names:
        return every
    known = set(every) | {module.GROUP for module in every.values()}
    if set(names) - known:
        raise SystemExit(f"there is no scenario '{(set(names) - known).pop()}': {', '.join(sorted(known))}")
    return {name: module for name, module in every.items() if name in names or module.GROUP in names}


def of_culprits(value, culprits):
    """What a scenario says as one thing, or by the name of the culprit that chance chose: all that hold."""
    return [value] if isinstance(value, str) else [value[name] for name in dict.fromkeys(culprits) if name in value]


def as_measured(cause, kernel_part, written_part):
    """kernel_part: of the culprits' CPU time what they spent in the kernel; written_part: of the bytes that they had the disks move what they
    wrote; None = not measured. Where it is about half, both are true."""
    if cause in COMPUTES and kernel_part is not None:
        return {"cpu"} if kernel_part < 0.4 else {"kernel-work"} if kernel_part > 0.6 else COMPUTES
    if cause in MOVES and written_part is not None:
        return {"disk-read"} if written_part < 0.25 else {"disk-write"} if written_part > 0.75 else {"disk-both"}
    return {cause}


def expected(module, culprits, kernel_part=None, written_part=None):
    """Of a scenario (a module) whose culprits have these names. By today's file: what was kept is judged as the file says now."""
    resources = of_culprits(module.RESOURCE, culprits)
    cause = frozenset().union(*(as_measured(SAME.get(cause, cause), kernel_part, written_part) for cause in of_culprits(module.CAUSE, culprits)))
    features = frozenset(module.FEATURES)
    strict = frozenset().union(*(STRICT[resource] for resource in resources)) & features
    return Expected(resources[0], cause, cause | module.TOLERABLE, strict, features)


def what_of(case):
    """The scenario in a sentence."""
    return load(HERE / "scenarios" / f"{case['scenario']}.py").__doc__.strip()


def expected_of(case):
    """Of a case that was kept."""
    return expected(load(HERE / "scenarios" / f"{case['scenario']}.py"), case["culprits"], case.get("kernel_part"), case.get("written_part"))
