"""One name, one thing: no two public classes of a package share a name."""

import ast
from collections import defaultdict
from pathlib import Path

import intravar

ROOT = Path(intravar.__file__).parent


def modules() -> list[Path]:
    return sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))


def public_classes(module: Path) -> list[str]:
    body = ast.parse((ROOT / module).read_text("utf-8")).body
    classes = [node.name for node in body if isinstance(node, ast.ClassDef)]
    return [name for name in classes if not name.startswith("_")]


def shared(places: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: where for name, where in places.items() if len(where) > 1}


def test_no_two_classes_of_a_package_share_a_name() -> None:
    """A package gives context: what is measured and what is published of it may be named alike."""
    places = defaultdict(list)
    for module in modules():
        for name in public_classes(module):
            places[f"{module.parts[0]}: {name}"].append(str(module))
    assert shared(places) == {}
