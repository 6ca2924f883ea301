"""The files of scenarios/, by name."""
import importlib.util
import pathlib

HERE = pathlib.Path(__file__).parent


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


def causes_of(name):
    """Which causes of share/causes are right for this scenario."""
    return load(HERE / "scenarios" / f"{name}.py").CAUSES
