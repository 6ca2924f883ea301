"""The files of scenarios/, by name."""
import dataclasses
import importlib.util
import pathlib

from ablation import felt
from resources import STRICT

HERE = pathlib.Path(__file__).parent
SAME = {"cpu-group": "cpu"}  # one cause in two sentences: a program of one process, or of several
COMPUTES = {"cpu", "kernel-work"}  # which of them is true is measured while the case is played
MOVES = {"disk-read", "disk-write"}  # so is this, or whether it is both
WAYS = {"synced-writes", "written-faster-than-disk", "many-small-reads"}  # to make others wait for the disk: not what it is where they do not


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


def causes_of_cpu(kernel_part):
    """kernel_part: of the culprits' CPU time what they spent in the kernel. Where it is about half, both are true."""
    return COMPUTES if 0.4 <= kernel_part <= 0.6 else {"kernel-work"} if kernel_part > 0.6 else {"cpu"}


def causes_of_disk(written_part):
    """written_part: of the bytes that they had the disks move what they wrote."""
    return {"disk-read"} if written_part < 0.25 else {"disk-write"} if written_part > 0.75 else {"disk-both"}


def as_measured(cause, resources, kernel_part, written_part):
    """Of sentences about a resource those that are true of what was short. None = not measured."""
    if cause not in COMPUTES | MOVES | WAYS:
        return {cause}
    measured = {"cpu": kernel_part, "io": written_part}
    of = {"cpu": causes_of_cpu, "io": (lambda _: {cause}) if cause in WAYS else causes_of_disk}
    own = "cpu" if cause in COMPUTES else "io"
    return frozenset().union(*(of[resource](measured[resource]) if measured.get(resource) is not None else {cause} if resource == own else set()
                               for resource in resources)) or {cause}


def expected(module, culprits, kernel_part=None, written_part=None, measured=None):
    """Of a scenario (a module) whose culprits have these names. By today's file: what was kept is judged as the file says now, but for what was
    measured: of what got short, CPU or disk, the ablation says more than a file."""
    declared, used = of_culprits(module.RESOURCE, culprits), {"cpu": kernel_part, "io": written_part}
    resources = felt(measured, declared) if set(declared) <= set(used) else declared
    resources = [resource for resource in resources if resource in declared or used[resource] is not None] or declared
    cause = frozenset().union(*(as_measured(SAME.get(cause, cause), resources, kernel_part, written_part) for cause in of_culprits(module.CAUSE, culprits)))
    features = frozenset(module.FEATURES)
    strict = frozenset().union(*(STRICT[resource] for resource in resources)) & features
    return Expected(declared[0], cause, cause | module.TOLERABLE, strict, features)


def what_of(case):
    """The scenario in a sentence."""
    return load(HERE / "scenarios" / f"{case['scenario']}.py").__doc__.strip()


def expected_of(case):
    """Of a case that was kept."""
    return expected(load(HERE / "scenarios" / f"{case['scenario']}.py"), case["culprits"], case.get("kernel_part"), case.get("written_part"), case.get("ablation"))
