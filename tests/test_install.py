"""The package installs into empty environments, from the wheel and from the source archive, with the newest and with
the lowest allowed libraries; there the main job works without any extra, and what needs an extra names it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from fathom.plugins.extras import EXTRAS, install
from made_once import made_once

ROOT = Path(__file__).parents[1]
UV = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.skipif(UV is None, reason="uv is not installed")]

WITHOUT = {
    "batch": "run suite --model anthropic/claude --batch --out other",
    "board": "board serve --store store",
    "compress": "compress select rows.parquet --budget 3 --out subset",
    "documents": "build passkey --corpus documents --lengths 1k --out other",
    "dump": "build tsort --threads threads.7z --lengths 1k --out other",
    "cloud": "run suite --model fathom/lexical --shard 1/2 --out s3://bucket/parts",
    "embed": "compress embed suite --model sentence-transformers/small --out embeddings.npz",
    "figures": "plot curve lexical --out curves.png",
    "hf": "run suite --model hf/model --out other",
    "inspect": "convert rows.parquet --to inspect --out logs",
    "local": "run suite --model local --out small --yes",
    "mlflow": "convert rows.parquet --to mlflow --out tracked",
    "ray": "run suite --model fathom/lexical --engine ray --out parts",
    "studio": "studio serve --store store",
    "wandb": "convert rows.parquet --to wandb --out tracked",
    "zh": "score chinese.jsonl --metric longbench_v1/qa_f1_zh",
}
"""A command for each extra, which fails without it."""
NEVER_MISSED = {
    "gigatoken": "without it, the same is counted by the tokenizers library",
    "hub": "tokenizers needs the same libraries",
    "kvpress": "PyTorch is missed first, which is the extra hf",
}
CALLS = """
import contextlib, io, json, sys
from fathom.cli import main

ended = []
for line in sys.argv[1:]:
    said, code = io.StringIO(), 0
    sys.argv = ["fathom", *line.split()]
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    ended.append((code, said.getvalue()))
print(json.dumps(ended))
"""


def run(*words: str | Path, folder: Path, code: int = 0) -> str:
    """What a program says; its exit code must be this one."""
    environment = {**os.environ, "PYTHONPATH": "", "COLUMNS": "200", "VIRTUAL_ENV": ""}
    done = subprocess.run([*map(str, words)], cwd=folder, env=environment, capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == code, said
    return said


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder with the wheel and the source archive of a copy of the tree; skips without a package index."""
    return made_once(tmp_path_factory, worker_id, "archives", make_archives)


def make_archives(made: Path) -> None:
    """Build them; skips without a package index."""
    source = made.with_name("source-of-archives")
    for name in ("src", "docs", "tests"):
        shutil.copytree(ROOT / name, source / name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE", "CHANGELOG.md"):
        shutil.copy(ROOT / name, source)
    assert UV is not None
    reached = subprocess.run([UV, "pip", "compile", "-"], cwd=source, input="hatchling", capture_output=True, text=True)
    if reached.returncode:
        pytest.skip(f"no package index can be reached: {reached.stderr.strip().splitlines()[-1]}")
    run(UV, "build", "--quiet", "--out-dir", made, source, folder=source)


def environment(folder: Path, *words: str | Path) -> Path:
    """A new environment into which this is installed with uv; returns the folder of its programs."""
    assert UV is not None
    run(UV, "venv", "--quiet", "--python", sys.executable, folder, folder=folder.parent)
    installed(folder, *words)
    return folder / ("Scripts" if os.name == "nt" else "bin")


def installed(folder: Path, *words: str | Path) -> None:
    assert UV is not None
    run(UV, "pip", "install", "--quiet", "--python", folder, *words, folder=folder.parent)


def calls(programs: Path, folder: Path, *lines: str) -> list[tuple[int, str]]:
    """Exit code and words of commands, one after the other in one process: each would load the same again."""
    said = run(programs / "python", "-c", CALLS, *lines, folder=folder)
    return [(code, words) for code, words in json.loads(said.splitlines()[-1])]


def main_job(programs: Path, folder: Path) -> None:
    """Build, run, read, report, compare and decide, as a stranger would."""
    run(programs / "fathom", "build", "starter", "--lengths", "1k,2k", "--items", "5", "--out", "suite", folder=folder)
    ended = calls(
        programs,
        folder,
        "run suite --model fathom/lexical --out lexical --yes",
        "run suite --model fathom/guess --out guess --yes",
        "rows lexical guess --out rows.parquet",
        "report lexical guess --out report.html",
        "analyze compare lexical guess",
        "convert rows.parquet --to every-eval-ever --out records",
        "plot curve lexical --out curves.svg",
        "report lexical guess --format markdown",
        "gate lexical --baseline lexical",
    )
    assert [code for code, _ in ended] == [0] * 8 + [3], ended
    assert "fathom/lexical" in (folder / "report.html").read_text("utf-8")
    assert "fathom/lexical" in ended[-2][1]
    assert "INCONCLUSIVE" in ended[-1][1]
    assert "fathom/lexical" in (folder / "curves.svg").read_text("utf-8")


def test_the_wheel_does_the_main_job_and_each_missing_extra_is_named(archives: Path, tmp_path: Path) -> None:
    place = tmp_path / "environment"
    programs = environment(place, *archives.glob("*.whl"))
    assert UV is not None
    run(UV, "pip", "check", "--python", place, folder=tmp_path)
    folder = tmp_path / "work"
    folder.mkdir()
    main_job(programs, folder)

    assert set(WITHOUT) | set(NEVER_MISSED) == set(EXTRAS)
    for name in ("documents/one.pdf", "threads.7z", "model/config.json"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("{}")
    (folder / "chinese.jsonl").write_text('{"prediction": "\u7532\u4e59", "answers": ["\u7532\u4e59"]}\n', "utf-8")
    for extra, (code, said) in zip(WITHOUT, calls(programs, folder, *WITHOUT.values()), strict=True):
        assert (code, "Traceback" in said) == (2, False), (extra, said)
        assert install(extra) in said.replace('"', "'"), (extra, said)


def test_the_source_archive_does_the_main_job_with_the_lowest_libraries(archives: Path, tmp_path: Path) -> None:
    place = tmp_path / "environment"
    lowest = environment(place, "--resolution", "lowest-direct", "-r", ROOT / "pyproject.toml")
    installed(place, "--no-deps", *archives.glob("*.tar.gz"))
    assert UV is not None
    found = dict(
        line.split("==")
        for line in run(UV, "pip", "freeze", "--python", place, folder=tmp_path).splitlines()
        if "==" in line
    )
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    asked = [one for one in map(Requirement, declared) if one.marker is None or one.marker.evaluate()]
    # The last line of a library counts: one with a marker for later versions of Python comes after that for all.
    bounds = {one.name: next(part.version for part in one.specifier if part.operator == ">=") for one in asked}
    assert bounds
    untrue = {name: (low, found[name]) for name, low in bounds.items() if not found[name].startswith(low)}
    assert not untrue, "bounds below what can be installed together"
    run(UV, "pip", "check", "--python", place, folder=tmp_path)
    folder = tmp_path / "work"
    folder.mkdir()
    main_job(lowest, folder)


def test_the_archives_hold_the_package_and_nothing_else(archives: Path) -> None:
    (wheel,) = archives.glob("*.whl")
    (source,) = archives.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
        entries = opened.read(next(name for name in names if name.endswith("entry_points.txt"))).decode()
    ours = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*") if path.is_file()}
    ours = {name for name in ours if "__pycache__" not in name}
    information = {name for name in names if ".dist-info/" in name}
    assert names - information == ours
    assert "fathom/py.typed" in ours
    assert {"LICENSE", "NOTICE"} <= {name.rpartition("licenses/")[2] for name in information}
    assert "fathom = fathom.cli:main" in entries
    with tarfile.open(source) as opened_source:
        files = {name.partition("/")[2] for name in opened_source.getnames()}
    assert {f"src/{name}" for name in ours} <= files
    rest = {name for name in files if not name.startswith("src/")}
    assert rest - {".gitignore"} == {"LICENSE", "NOTICE", "README.md", "PKG-INFO", "pyproject.toml"}
