"""The plan of the house, measured: `--check` fails where a guard is broken, otherwise the measures are printed."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from bot.features import FEATURES
from tests.house.without import features_of

ROOT = Path(__file__).parents[2]
PRODUCT = ("bot", "fake_slack", "perplexity")
MAX_FUNCTION, MAX_SERVICES = 80, 15

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def modules(*packages: str) -> dict[Path, ast.Module]:
    """Return the modules of packages, by their paths in the project."""
    found = sorted(path for package in packages or PRODUCT for path in (ROOT / package).rglob("*.py"))
    return {path.relative_to(ROOT): ast.parse(path.read_text(encoding="utf-8")) for path in found}


def functions() -> Iterator[tuple[int, str]]:
    """Yield the length of each function in lines, with its place."""
    for path, module in modules().items():
        for node in ast.walk(module):
            if isinstance(node, Function):
                yield (node.end_lineno or node.lineno) - node.lineno + 1, f"{path}:{node.lineno} {node.name}"


def classes() -> Iterator[tuple[Path, ast.ClassDef]]:
    """Yield each class with its module."""
    for path, module in modules().items():
        yield from ((path, node) for node in ast.walk(module) if isinstance(node, ast.ClassDef))


def services() -> frozenset[str]:
    """Return the names of the classes that do something: they have a method that waits."""
    return frozenset(
        node.name for _, node in classes() if any(isinstance(one, ast.AsyncFunctionDef) for one in node.body)
    )


def _names(annotation: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)}


def _acts(annotation: ast.expr) -> bool:
    """Return whether a field is a function that does something; one that only returns a value is none."""
    called = [
        node for node in ast.walk(annotation) if isinstance(node, ast.Subscript) and _names(node.value) == {"Callable"}
    ]
    returns = [node.slice.elts[-1] for node in called if isinstance(node.slice, ast.Tuple)]
    return any(isinstance(one, ast.Constant) or _names(one) & {"Awaitable", "Coroutine"} for one in returns)


def bags() -> Iterator[tuple[int, str]]:
    """Yield, of each class that more than one other module takes, how many of its fields are services."""
    known, takers = services(), Counter[str]()
    for module in modules().values():
        taken: set[str] = set()
        for node in ast.walk(module):
            if isinstance(node, ast.arg) and node.annotation is not None:
                taken |= _names(node.annotation)
        own = {node.name for node in ast.walk(module) if isinstance(node, ast.ClassDef)}
        takers.update(taken - own)
    for path, node in classes():
        fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
        count = sum(bool(_names(one.annotation) & known) or _acts(one.annotation) for one in fields)
        if takers[node.name] > 1:
            yield count, f"{path}:{node.lineno} {node.name}"


def problems() -> list[str]:
    """Return what breaks a guard, a line each."""
    found = [
        f"{place} has {lines} lines, {MAX_FUNCTION} at most" for lines, place in functions() if lines > MAX_FUNCTION
    ]
    found += [
        f"{place} holds {count} services, {MAX_SERVICES} at most" for count, place in bags() if count > MAX_SERVICES
    ]
    folders = {path.parts[2] for path in modules("bot") if path.parts[1] == "features" and len(path.parts) > 3}
    named = [feature.name for feature in FEATURES]
    found += [f"bot/features/{name} is missing from FEATURES" for name in sorted(folders - set(named))]
    found += [f"FEATURES has {name}, which has no folder" for name in named if name not in folders]
    return [*found, *misplaced()]


def of_features(module: ast.Module) -> set[str]:
    """Return the features whose modules a module imports."""
    imported = [node for node in ast.walk(module) if isinstance(node, ast.ImportFrom) and node.module]
    names = [f"{one.module}.{alias.name}.".split(".") for one in imported for alias in one.names]
    return {parts[2] for parts in names if parts[:2] == ["bot", "features"]} & {feature.name for feature in FEATURES}


def misplaced() -> Iterator[str]:
    """Yield the tests that a copy without a feature could not run, and would not leave out."""
    for path, module in modules("tests").items():
        used, folder = of_features(module), path.parts[1:3]
        if folder[0] == "together":
            allowed, fix = features_of(ROOT / path), "name them in pytest.mark.features"
        else:
            allowed = {folder[1]} if folder[0] == "features" else set()
            fix = "it belongs in the feature's folder of tests, or in tests/together"
        if used - allowed:
            yield f"{path} needs the features {sorted(used - allowed)}: {fix}"


def measures() -> Iterator[tuple[str, str]]:
    """Yield what the plan measures, with its value."""
    yield "modules", str(len(modules()))
    yield "modules of the core (bot without features)", str(sum(path.parts[1] != "features" for path in modules("bot")))
    yield "modules of features", str(sum(path.parts[1] == "features" for path in modules("bot")))
    yield "largest bag of services", "{} ({})".format(*max(bags()))
    yield "longest function", "{} lines ({})".format(*max(functions()))
    names = Counter(node.name for _, node in classes())
    yield "class names with two meanings", str(sum(count > 1 for count in names.values()))
    for feature in FEATURES:
        files = [path for path in modules("bot") if path.parts[1:3] == ("features", feature.name)]
        yield f"modules of {feature.name}", str(len(files))


def main(arguments: Sequence[str]) -> int:
    """Check the guards, or print the measures."""
    if "--check" in arguments:
        found = problems()
        sys.stdout.write("".join(f"{line}\n" for line in found) or "The house keeps its plan.\n")
        return 1 if found else 0
    sys.stdout.write("".join(f"{name}: {value}\n" for name, value in measures()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
