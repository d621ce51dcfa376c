"""What fathom weighs when it is installed, by library.

    python performance/install_size.py                    # without extras, of the working tree
    python performance/install_size.py --extra all --extra hf
    python performance/install_size.py --commit fd4f7743  # as it was before

Builds the wheel and installs it with uv into an empty virtual environment, whose modules are compiled as pip does it.
Sizes are those of the files that each package lists as its own, in MB (1,000,000 bytes), and include compiled modules.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import Distribution, distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]
LISTED = 12


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
        everything = size_of(packages)
        compiled = sum(file.stat().st_size for file in packages.rglob("*.pyc"))
    print("| library | version | MB |\n| --- | --- | ---: |")
    for weight, name, version in found[: given.listed]:
        print(f"| {name} | {version} | {weight / 1e6:.0f} |")
    rest = everything - sum(weight for weight, _, _ in found[: given.listed])
    print(f"| {len(found) - given.listed} more | | {rest / 1e6:.0f} |")
    print(f"| together | | {everything / 1e6:.0f} |\n\nof these {compiled / 1e6:.0f} MB are compiled modules")


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
