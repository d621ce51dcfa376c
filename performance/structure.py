"""Prints how large the source is and how it is divided: lines, files, files with one importer, long functions.

python performance/structure.py [FOLDER] [--list]
"""

import argparse
import ast
from collections import defaultdict
from pathlib import Path

LONG_FUNCTION = 60


def imported(tree: ast.Module, name: str, is_package: bool, names: set[str]) -> set[str]:
    """The modules of the package that a module imports, at its top or in a function."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = name.split(".") if is_package else name.split(".")[:-1]
            start = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            modules = {f"{base}.{alias.name}" for alias in node.names}
            found |= {module if module in names else base for module in modules}
    return (found & names) - {name}


def long_functions(tree: ast.Module) -> list[tuple[int, str]]:
    """The functions of more than 60 lines, with their number of lines."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    sizes = [((node.end_lineno or node.lineno) - node.lineno + 1, node.name) for node in functions]
    return [(size, name) for size, name in sizes if size > LONG_FUNCTION]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parents[1] / "src")
    parser.add_argument("--list", action="store_true", help="name the files with one importer and the long functions")
    options = parser.parse_args()
    root: Path = options.folder
    paths = {path.relative_to(root).with_suffix("").parts: path for path in root.rglob("*.py")}
    texts = {".".join(parts).removesuffix(".__init__"): path.read_text("utf-8") for parts, path in paths.items()}
    packages = {".".join(parts[:-1]) for parts in paths if parts[-1] == "__init__"}
    trees = {name: ast.parse(text) for name, text in texts.items()}
    importers: dict[str, set[str]] = defaultdict(set)
    for name, tree in trees.items():
        for module in imported(tree, name, name in packages, set(trees)):
            importers[module].add(name)
    lines = {name: text.count("\n") for name, text in texts.items()}
    single = {
        name: next(iter(users))
        for name, users in importers.items()
        if name not in packages and len(users) == 1 and next(iter(users)).rpartition(".")[0] == name.rpartition(".")[0]
    }
    long = sorted(((size, f"{name}.{function}") for name in trees for size, function in long_functions(trees[name])))
    if options.list:
        for name in sorted(single, key=lambda name: lines[name]):
            print(f"{lines[name]:5} {name}  <- {single[name]} ({lines[single[name]]})")
        for size, function in long:
            print(f"{size:5} {function}")
    print(f"lines                               {sum(lines.values()):6}")
    print(f"files                               {len(texts):6}")
    print(f"files with one importer, a neighbour{len(single):6}")
    print(f"functions over {LONG_FUNCTION} lines              {len(long):6}")


if __name__ == "__main__":
    main()
