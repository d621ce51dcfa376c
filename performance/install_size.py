"""What fathom weighs when it is installed, by library.

    python performance/install_size.py                    # without extras, of the working tree
    python performance/install_size.py --extra all --extra hf
    python performance/install_size.py --commit fd4f7743  # as it was before

Builds the wheel and installs it with uv into an empty virtual environment, whose modules are compiled as pip does it.
Sizes are those of the files that each package lists as its own, in MB (1,000,000 bytes), and include compiled modules.
The first table has what fathom needs itself, with the packages that would go with it: those that nothing else needs.
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import Distribution, distributions
from itertools import chain
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
LISTED = 12
FATHOM = "fathom-eval"
SERVES = {
    "altair": "charts",
    "annotated-types": "bounds of the fields of stored records",
    "backports-zstd": "files ending in .zst, up to Python 3.13",
    "bm25s": "the retrieval baseline, and retrieved passages",
    "click": "the command line",
    "inspect-ai": "requests to models of other providers than those with OpenAI's interface, and its logs",
    "jinja2": "pages of reports, boards and the studio",
    "joblib": "several processes",
    "mistral-common": "the default tokenizer",
    "numpy": "statistics",
    "openai": "requests to servers with OpenAI's interface",
    "opencc": "traditional Chinese characters in scores",
    "polars": "all tables: Parquet, Arrow, CSV",
    "pydantic": "checks of stored records",
    "pyyaml": "results of NeMo",
    "rich": "tables and progress in the terminal",
    "sentencepiece": "tokenizer.model files",
    "threadpoolctl": "threads of several processes",
    "tiktoken": "tokenizers of OpenAI",
    "tokenizers": "tokenizer.json files",
    "typing-extensions": "types of records before Python 3.13",
    "vl-convert-python": "charts without a browser",
    "zstandard": "files ending in .zst",
}
"""What a base dependency is for."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--extra", action="append", default=[], help="an extra to install; may be given several times")
    parser.add_argument("--commit", help="instead of the working tree")
    parser.add_argument("--listed", type=int, default=LISTED, help=f"libraries to list, the largest; default {LISTED}")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fathom-size-") as scratch:
        folder = Path(scratch)
        wheel = built(source_of(given.commit, folder / "source"), folder)
        place = folder / "environment"
        uv("venv", "--quiet", "--python", sys.executable, place)
        extras = f"[{','.join(given.extra)}]" if given.extra else ""
        uv("pip", "install", "--quiet", "--compile-bytecode", "--python", place, f"{wheel}{extras}")
        (packages,) = place.glob("lib/python*/site-packages")
        every = distributions(path=[str(packages)])
        found = sorted(((size(one), one.metadata["Name"], one.version) for one in every), reverse=True)
        needed = requirements(list(distributions(path=[str(packages)])))
        everything = size_of(packages)
        compiled = sum(file.stat().st_size for file in packages.rglob("*.pyc"))
    sizes = {canonical(name): weight for weight, name, _ in found}
    print("| needs | MB | with what only it needs | packages | for |\n| --- | ---: | ---: | ---: | --- |")
    direct = needed[FATHOM]
    alone = {name: sorted(set(sizes) - reached(needed, without=name)) for name in direct}
    for name in sorted(direct, key=lambda name: -sum(sizes[one] for one in alone[name])):
        together = sum(sizes[one] for one in alone[name])
        row = (name, f"{sizes[name] / 1e6:.1f}", f"{together / 1e6:.1f}", len(alone[name]), SERVES.get(name, ""))
        print(f"| {' | '.join(map(str, row))} |")
    print("\n| library | version | MB |\n| --- | --- | ---: |")
    listed = found[: given.listed]
    for weight, name, version in listed:
        print(f"| {name} | {version} | {weight / 1e6:.0f} |")
    rest = everything - sum(weight for weight, _, _ in listed)
    print(f"| {len(found) - len(listed)} more | | {rest / 1e6:.0f} |")
    print(f"| together, {len(found)} packages | | {everything / 1e6:.0f} |")
    print(f"\nof these {compiled / 1e6:.0f} MB are compiled modules")


def canonical(name: str) -> str:
    """A package's name as the index writes it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements(packages: Sequence[Distribution]) -> dict[str, set[str]]:
    """What each package needs in this environment, with the extras that others ask for."""
    lines = {canonical(one.metadata["Name"]): [Requirement(line) for line in one.requires or ()] for one in packages}
    extras: dict[str, set[str]] = {}
    for line in chain.from_iterable(lines.values()):
        extras.setdefault(canonical(line.name), {""}).update(line.extras)
    return {
        name: {
            canonical(line.name)
            for line in needed
            if line.marker is None or any(line.marker.evaluate({"extra": extra}) for extra in extras.get(name, {""}))
        }
        for name, needed in lines.items()
    }


def reached(needed: Mapping[str, set[str]], without: str) -> set[str]:
    """What fathom needs, directly or not, without one library."""
    seen, left = set[str](), [FATHOM]
    while left:
        name = left.pop()
        if name not in seen and name != without:
            seen.add(name)
            left.extend(needed.get(name, ()))
    return seen


def source_of(commit: str | None, folder: Path) -> Path:
    """The working tree, or a commit in a folder."""
    if not commit:
        return ROOT
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        opened.extractall(folder, filter="data")
    return folder


def built(source: Path, folder: Path) -> Path:
    """The wheel of a source tree."""
    uv("build", "--quiet", "--wheel", "--out-dir", folder / "wheel", source)
    return next((folder / "wheel").glob("*.whl"))


def size(package: Distribution) -> int:
    """Bytes of a package's own files and of the modules compiled from them."""
    own = {Path(str(package.locate_file(file))) for file in package.files or ()}
    compiled = {path for file in own if file.suffix == ".py" for path in compiled_from(file)}
    return sum(file.stat().st_size for file in own | compiled if file.is_file())


def compiled_from(file: Path) -> list[Path]:
    return [*(file.parent / "__pycache__").glob(f"{file.stem}.*.pyc")]


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def uv(*words: object) -> None:
    subprocess.run([sys.executable, "-m", "uv", *map(str, words)], check=True)


if __name__ == "__main__":
    main()
