"""Build the wheel, install it with the extra ``test`` for several Pythons, and run the quick tests with each.

    python performance/python_versions.py                       # every python3.11 to python3.14 on PATH
    python performance/python_versions.py PYTHON... --workers 2
    python performance/python_versions.py --installed           # only install, import and run a suite
    python performance/python_versions.py python3.11 --lowest   # with the lowest versions that pyproject.toml allows
    python performance/python_versions.py python3.11 --each-extra   # each extra alone, from wheels of PyPI; needs uv

Each Python gets a virtual environment in a temporary folder. The tests run against the installed wheel, not the source
tree. Prints a table; the exit code is 1 if a version fails.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
HEAVY = {"embed", "hf", "kvpress", "local", "mlflow", "ray"}
"""Extras that ``--each-extra`` leaves out: `make test-models`, `test-kvpress` and `test-ray` install and use them."""
INSTEAD = {
    "board": "board serve --store store --any-suite --port 0",
    "studio": "studio init --store studio --administrator ada",
}
"""Commands of extras that do more than those of ``tests/test_install.py``, which only have to fail."""
NO_CLOUD = {"AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none", "AWS_ENDPOINT": "http://127.0.0.1:9"}
"""So that a store is asked for which is not there, and nobody for a key."""
COUNTS = re.compile(r"(\d+) (passed|failed|skipped|error)")


@dataclass(frozen=True)
class Found:
    """What came of one Python.

    Attributes:
        version: Of Python.
        seconds: For installing and for testing.
        counts: Tests that passed, were skipped, failed or had an error.
        why: The last lines of what failed, else "".
    """

    version: str
    seconds: tuple[float, float]
    counts: dict[str, int]
    why: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pythons", nargs="*", help="interpreters; by default those on PATH")
    parser.add_argument("--workers", default="2", help="processes of each run of the tests")
    parser.add_argument("--installed", action="store_true", help="no tests: import, build and run a suite")
    parser.add_argument("--lowest", action="store_true", help="the lowest versions of all libraries; needs uv")
    parser.add_argument("--each-extra", action="store_true", help="no tests: each extra alone, and its command")
    given = parser.parse_args()
    pythons = given.pythons or [path for name in VERSIONS if (path := shutil.which(f"python{name}"))]
    with tempfile.TemporaryDirectory(prefix="fathom-pythons-") as scratch:
        wheel = built(Path(scratch))
        if given.each_extra:
            failed = [python for python in pythons if each_extra(python, wheel, Path(scratch))]
            sys.exit(bool(failed) or not pythons)
        print(
            f"{wheel.name}\n\n| Python | installed in | passed | skipped | failed | tested in |\n" + "| --- " * 6 + "|"
        )
        rows = [tried(python, wheel, Path(scratch), given) for python in pythons]
    for row in rows:
        if row.why:
            print(f"\n{row.version}:\n{row.why}")
    sys.exit(any(row.why for row in rows) or not rows)


def built(folder: Path) -> Path:
    """The wheel of the working tree."""
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT], check=True)
    return next(folder.glob("*.whl"))


def tried(python: str, wheel: Path, scratch: Path, given: argparse.Namespace) -> Found:
    """Install the wheel for a Python, test it and print its row."""
    version = subprocess.run(
        [python, "-c", "import sys; print(sys.version.split()[0])"], capture_output=True, text=True
    )
    name = version.stdout.strip()
    place, begun = scratch / f"venv-{name}", time.monotonic()
    why = ended_well([python, "-m", "venv", place], scratch)
    ours = str(place / "bin" / "python")
    extra = "" if given.installed else "[test]"
    uv = shutil.which("uv")  # several times as fast as pip
    installer = [uv, "pip", "install", "--python", ours] if uv else [ours, "-m", "pip", "install"]
    if given.lowest:
        lowest = ["--resolution", "lowest-direct", "-r", ROOT / "pyproject.toml", "--extra", "all"]
        why = why or ended_well([*installer, "--quiet", *lowest], scratch)  # what the tests need besides is added to it
    why = why or ended_well([*installer, "--quiet", f"{wheel}{extra}"], scratch)
    installed, counts = time.monotonic(), dict[str, int]()
    if not why:
        why, counts = used(ours, scratch) if given.installed else tested(ours, scratch / name, given)
    found = Found(name, (installed - begun, time.monotonic() - installed), counts, why)
    failed = counts.get("failed", 0) + counts.get("error", 0)
    numbers = f"{counts.get('passed', 0):,} | {counts.get('skipped', 0)} | {failed}"
    print(f"| {name} | {found.seconds[0]:.0f} s | {numbers} | {found.seconds[1]:.0f} s |", flush=True)
    shutil.rmtree(place, ignore_errors=True)
    return found


def tested(python: str, folder: Path, given: argparse.Namespace) -> tuple[str, dict[str, int]]:
    """Run the quick tests of a copy of the repository, whose sources are not on the path of Python."""
    folder.mkdir()
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    words = [python, "-m", "pytest", "-n", given.workers, "-m", "not slow and not browser", "-p", "no:cacheprovider"]
    words += ["-W", "default"] if given.lowest else []  # older libraries use what others have deprecated since
    ended = subprocess.run(words, cwd=folder, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""})
    counts = {kind: int(number) for number, kind in COUNTS.findall(last(ended.stdout.splitlines(), 1))}
    return last(ended.stdout.splitlines(), 20) if ended.returncode else "", counts


def used(python: str, folder: Path) -> tuple[str, dict[str, int]]:
    """Import the installed package and do the main job with it."""
    fathom, out = Path(python).with_name("fathom"), folder / "used"
    for words in (
        [python, "-W", "error::DeprecationWarning:fathom", "-c", "import fathom; fathom.api.build"],
        [fathom, "build", "passkey", "--lengths", "1k", "--items", "5", "--out", out / "suite"],
        [fathom, "run", out / "suite", "--model", "fathom/lexical", "--out", out / "run", "--yes"],
        [fathom, "report", out / "run", "--out", out / "report.html"],
    ):
        if why := ended_well(words, folder):
            return why, {}
    shutil.rmtree(out)
    return "", {}


def each_extra(python: str, wheel: Path, scratch: Path) -> bool:
    """Install the wheel with each extra alone and do what ``tests/test_install.py`` shows to fail without it.

    Returns:
        Whether an extra failed.
    """
    sys.path.insert(0, str(ROOT / "tests"))
    from fathom.plugins.extras import EXTRAS, install
    from test_install import WITHOUT

    print("| extra | packages | MB | wheels alone | its command |\n" + "| --- | ---: | ---: | --- | --- |")
    failed = False
    work = scratch / f"work-{Path(python).name}"
    for extra in ["", *sorted(set(EXTRAS) - HEAVY)]:
        place, asked = scratch / "environment", f"{wheel}[{extra}]" if extra else wheel
        whole = ended_well(["uv", "venv", "--quiet", "--clear", "--python", python, place], scratch)
        install_it = ["uv", "pip", "install", "--quiet", "--python", place, asked]
        sources = ended_well([*install_it, "--only-binary", ":all:"], scratch)
        whole = whole or (ended_well(install_it, scratch) if sources else "")
        whole = whole or ended_well(["uv", "pip", "check", "--python", place], scratch)
        if not extra:
            prepare(place / "bin" / "fathom", work)
        modules = EXTRAS[extra].modules if extra else ("fathom.api",)
        whole = whole or ended_well([place / "bin" / "python", "-c", f"import {', '.join(modules)}"], work)
        line = {**WITHOUT, **INSTEAD}.get(extra, "")
        says = ran(place / "bin" / "fathom", line, work) if line and not whole else "works"
        shutil.rmtree(work / "other", ignore_errors=True)
        if whole or "Traceback" in says or (extra and install(extra) in says.replace('"', "'")):
            failed, says = True, f"FAILED: {whole or says}"
        (packages,) = place.glob("lib/python*/site-packages")
        size = sum(file.stat().st_size for file in packages.rglob("*") if file.is_file() and file.suffix != ".pyc")
        number = len([*packages.glob("*.dist-info")])
        wheels = "no" if sources else "yes"
        print(f"| {extra or 'none'} | {number} | {size / 1e6:.0f} | {wheels} | {says} |", flush=True)
    return failed


def prepare(fathom: Path, work: Path) -> None:
    """What the commands of extras are given: a suite, a run, its rows, and a file of each kind that needs an extra."""
    (work / "documents").mkdir(parents=True)
    text = " ".join(f"Sentence {number} of a page is short." for number in range(500))
    (work / "documents" / "one.html").write_text(f"<html><body><p>{text}</p></body></html>")
    (work / "threads.7z").write_text("{}")
    (work / "chinese.jsonl").write_text('{"prediction": "\u7532\u4e59", "answers": ["\u7532\u4e59"]}\n', "utf-8")
    for line in (
        "build starter --lengths 1k,2k --items 5 --out suite",
        "run suite --model fathom/lexical --out lexical --yes",
        "rows lexical --out rows.parquet",
    ):
        ended_well([fathom, *line.split()], work)


def ran(fathom: Path, line: str, work: Path) -> str:
    """What a command says in the end, "works" if it ends well, or serves for half a minute."""
    serves, environment = " serve " in line, {**os.environ, **NO_CLOUD}
    words = [str(fathom), *line.split()]
    limit = 30 if serves else 180
    try:
        ended = subprocess.run(words, cwd=work, env=environment, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return "works" if serves else "no end in three minutes"
    said = " ".join((ended.stdout + ended.stderr).split())
    return "works" if ended.returncode == 0 else f"`{line}`: {said[-300:]}"


def ended_well(words: Iterable[object], folder: Path) -> str:
    """The last lines of a command that failed, else ""."""
    ended = subprocess.run([*map(str, words)], cwd=folder, capture_output=True, text=True)
    return last((ended.stdout + ended.stderr).splitlines(), 20) if ended.returncode else ""


def last(lines: list[str], number: int) -> str:
    return "\n".join(lines[-number:])


if __name__ == "__main__":
    main()
