"""Upgrades servers of an earlier fathom with data in them: is everything there, and does rolling back work?

The earlier version is built from the history of this repository and installed into an environment of its own, which
shares the installed packages. It makes the data, by commands and requests alone: four bundles of real runs, accepted,
refused, withdrawn and pending; a studio with documents and drafts. Then this version serves the same store, and what it
shows is compared. At last the backup from before the upgrade is restored and served by the earlier version again.

    python performance/upgrade_servers.py                            # the first store, and the last before metrics
    python performance/upgrade_servers.py --commits b82dd887^        # another one
    python performance/upgrade_servers.py --kinds board --places sqlite

Compared are the facts of each submission, its bundle byte by byte, decisions, tokens, and the files of the site.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import site
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

COMMITS = ("b82dd887^", "fd4f7743")
MODELS = ("fathom/lexical", "fathom/guess", "fathom/longest", "fathom/first")
PROGRAM = "import sys; from fathom.cli import main; sys.argv[0] = 'fathom'; main()"
SAME = ("id", "state", "submitter", "received", "size", "model", "variant", "created", "suites", "reason", "decided_by")
get = partial(httpx.get, timeout=None, trust_env=False)
post = partial(httpx.post, timeout=None, trust_env=False)


@dataclass(frozen=True)
class Version:
    """A version of fathom.

    Attributes:
        name: A commit, or ``this``.
        python: Its interpreter.
        source: In front of its other modules; "" for what is installed.
    """

    name: str
    python: str
    source: str = ""

    @property
    def environment(self) -> dict[str, str]:
        """Its environment."""
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return kept | ({"PYTHONPATH": self.source} if self.source else {})

    def call(self, *words: str | Path, code: int = 0) -> str:
        """The output of a command; its errors where it is to fail."""
        command = [self.python, "-c", PROGRAM, *map(str, words)]
        end = subprocess.run(command, capture_output=True, text=True, env=self.environment, check=False)
        assert end.returncode == code, f"{self.name}: {words}: {end.returncode}\n{end.stdout}\n{end.stderr}"
        return end.stderr if code else end.stdout

    @contextmanager
    def serving(self, folder: Path, kind: str, *words: str | Path) -> Iterator[str]:
        """A server; gives its address, and ends as a service manager ends it."""
        folder.mkdir(exist_ok=True, parents=True)
        log = folder / f"{kind}-{self.name.strip('^')}-{time.monotonic_ns()}.log"
        command = [self.python, "-c", PROGRAM, kind, "serve", "--port", "0", *map(str, words)]
        with log.open("wb") as stream:
            process = subprocess.Popen(command, stderr=stream, stdout=stream, cwd=folder, env=self.environment)
            try:
                while not (found := re.search(r"http://[\d.]+:\d+/", log.read_text("utf-8"))):
                    assert process.poll() is None, log.read_text("utf-8")
                    time.sleep(0.05)
                yield found[0]
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait()


THIS = Version("this", sys.executable, str(ROOT / "src"))


def earlier(commit: str, folder: Path) -> Version:
    """An earlier version, built and installed into an environment of its own."""
    source, environment = folder / "source", folder / "environment"
    source.mkdir(parents=True)
    tar = subprocess.run(["git", "-C", str(ROOT), "archive", commit], check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(source)], input=tar, check=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = str(environment / "bin" / "python")
    packages = next((environment / "lib").glob("python*/site-packages"))
    # What is installed here is shared; pip adds what only the earlier version needs.
    (packages / "shared.pth").write_text("\n".join(site.getsitepackages()), "utf-8")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "hatchling"], check=True)
    subprocess.run([*pip, "--no-build-isolation", f"{source}[board]"], check=True)
    where = subprocess.run(
        [python, "-c", "import fathom; print(fathom.__file__)"], capture_output=True, text=True, check=True, cwd=folder
    ).stdout
    assert where.startswith(str(environment)), where
    return Version(commit, python)


# The leaderboard


def bundles_of(version: Version, folder: Path) -> tuple[Path, list[Path]]:
    """A suite, and bundles of real runs of it, made by a version."""
    suite = folder / "suite"
    version.call("build", "starter", "--lengths", "1k,2k", "--items", "3", "--out", suite)
    bundles = []
    for model in MODELS:
        run, bundle = folder / f"run-{Path(model).name}", folder / f"{Path(model).name}.zip"
        version.call("run", suite, "--model", model, "--out", run)
        version.call("board", "bundle", run, "--out", bundle)
        bundles.append(bundle)
    return suite, bundles


@dataclass(frozen=True)
class Board:
    """What a leaderboard shows.

    Attributes:
        submissions: Facts by id.
        bundles: SHA-256 of the bytes by id.
        decisions: Decisions.
        pages: SHA-256 of the site's files by path, without days of building.
        scores: What the site offers as a table.
    """

    submissions: dict[str, dict[str, Any]]
    bundles: dict[str, str]
    decisions: list[Any]
    pages: dict[str, str]
    scores: list[dict[str, Any]]


def seen(address: str, moderator: str, out: Path) -> Board:
    """What a server shows to a moderator and to everybody, once its site is built."""
    headers = {"Authorization": f"Bearer {moderator}"}
    while not get(f"{address}api/site", headers=headers).json()["current"]:
        time.sleep(0.2)
    listed = get(f"{address}api/submissions", headers=headers).json()["submissions"]
    kept = [one["id"] for one in listed if one["state"] in ("pending", "accepted")]
    bundles = {id: get(f"{address}api/submissions/{id}/bundle", headers=headers).content for id in kept}
    decided = get(f"{address}api/decisions", headers=headers)
    current = out / "current"
    return Board(
        {one["id"]: {name: one.get(name) for name in SAME} for one in listed},
        {id: hashlib.sha256(content).hexdigest() for id, content in bundles.items()},
        decided.json()["decisions"] if decided.status_code == 200 else [],
        {str(path.relative_to(current)): _digest(path) for path in sorted(current.rglob("*")) if path.is_file()},
        _scores(current),
    )


def _digest(path: Path) -> str:
    return hashlib.sha256(re.sub(rb'"built": ?"[^"]*"', b"", path.read_bytes())).hexdigest()


def _scores(current: Path) -> list[dict[str, Any]]:
    """The table of all scores, with the columns that both versions have."""
    import polars as pl

    table = next(iter(sorted((current / "downloads").glob("all.parquet"))), None)
    if table is None:
        return []
    frame = pl.read_parquet(table)
    wanted = [
        name for name in ("board", "model", "variant", "task", "length", "score", "mean") if name in frame.columns
    ]
    return frame.select(wanted).sort(wanted).to_dicts()


def fill_board(address: str, tokens: dict[str, str], bundles: Sequence[Path]) -> None:
    """One submission in each state."""
    headers = {who: {"Authorization": f"Bearer {token}"} for who, token in tokens.items()}
    ids = []
    for path in bundles:
        sent = headers["ann"] | {"Content-Type": "application/zip"}
        answer = post(f"{address}api/submissions", content=path.read_bytes(), headers=sent)
        assert answer.status_code == 201, answer.text
        ids.append(answer.json()["id"])
    for id, who, deed in zip(ids, ("mo", "mo", "ann"), ("accept", "refuse", "withdraw"), strict=False):
        answer = post(f"{address}api/submissions/{id}/{deed}", json={"reason": f"to {deed} it"}, headers=headers[who])
        assert answer.status_code == 200, answer.text


def saved(version: Version, kind: str, place: str, out: Path) -> None:
    """A backup by the version that runs; earlier than the command, as its documentation said."""
    if "backup" in version.call(kind, "--help"):
        version.call(kind, "backup", "--store", place, "--out", out)
    elif "://" in place:
        plain = place.replace("postgresql+psycopg", "postgresql")
        subprocess.run(["pg_dump", "--format=custom", "--no-owner", f"--file={out}", plain], check=True)
    else:
        import sqlite3

        with sqlite3.connect(Path(place) / f"{kind}.sqlite") as connection:
            connection.execute("VACUUM INTO ?", (str(out),))


def brought_back(version: Version, kind: str, backup: Path, place: str) -> None:
    """A backup restored by the earlier version."""
    if "restore" in version.call(kind, "--help"):
        version.call(kind, "restore", backup, "--store", place)
    elif "://" in place:
        plain = place.replace("postgresql+psycopg", "postgresql")
        subprocess.run(["pg_restore", "--no-owner", "--exit-on-error", f"--dbname={plain}", str(backup)], check=True)
    else:
        Path(place).mkdir()
        shutil.copy(backup, Path(place) / f"{kind}.sqlite")


def upgrade_board(old: Version, place: str, rollback: str, folder: Path) -> dict[str, Any]:
    """Upgrades a leaderboard and rolls it back; gives the figures."""
    suite, bundles = bundles_of(old, folder)
    roles = {"ann": "submit", "mo": "moderate"}
    words = ("--role", "{}", "--store", place)
    tokens = {
        who: old.call("board", "token", who, *(word.format(role) for word in words)).split()[-1]
        for who, role in roles.items()
    }
    out = folder / "sites"
    options = ("--suite", suite, "--out", out, "--no-published")
    with old.serving(folder, "board", "--store", place, *options) as address:
        fill_board(address, tokens, bundles)
        before = seen(address, tokens["mo"], out)
    backup = folder / "before.backup"
    saved(old, "board", place, backup)
    began = time.monotonic()
    with THIS.serving(folder, "board", "--store", place, *options) as address:
        ready = get(f"{address}health/ready")
        seconds = time.monotonic() - began
        assert ready.json()["ready"], ready.text
        after = seen(address, tokens["mo"], out)
    assert after.submissions == before.submissions
    assert after.bundles == before.bundles
    assert [one["after"] for one in after.decisions][: len(before.decisions) or 3]
    assert len(after.decisions) >= max(len(before.decisions), 2)
    changed = sorted(
        path for path in before.pages.keys() & after.pages.keys() if before.pages[path] != after.pages[path]
    )
    refused = old.call("board", "token", "new", "--store", place, code=2) if _is_newer(old, place) else ""
    brought_back(old, "board", backup, rollback)
    with old.serving(
        folder, "board", "--store", rollback, *options[:2], "--out", folder / "back", *options[4:]
    ) as address:
        back = seen(address, tokens["mo"], folder / "back")
    assert (back.submissions, back.bundles, back.decisions) == (before.submissions, before.bundles, before.decisions)
    return {
        "submissions": len(after.submissions),
        "bundles": len(after.bundles),
        "decisions": len(after.decisions),
        "scores equal": before.scores == after.scores,
        "files of the site": len(after.pages),
        "changed": changed if len(changed) < 9 else len(changed),
        "new": len(after.pages.keys() - before.pages.keys()),
        "gone": len(before.pages.keys() - after.pages.keys()),
        "ready after (s)": round(seconds, 1),
        "the earlier version on the new store": refused.strip()[:200] or "opens it: the tables are the same",
    }


def _is_newer(old: Version, place: str) -> bool:
    """Whether this version migrated the store beyond what the earlier one knows."""
    program = "from fathom.board.serve.schema import MIGRATIONS; print(len(MIGRATIONS))"
    said = subprocess.run([old.python, "-c", program], env=old.environment, capture_output=True, text=True, check=True)
    from fathom.board.serve.schema import MIGRATIONS

    return int(said.stdout) < len(MIGRATIONS)


# The studio


def upgrade_studio(old: Version, place: str, rollback: str, folder: Path) -> dict[str, Any]:
    """Upgrades a studio and rolls it back; gives the figures."""
    store = ("--store", place)
    old.call("studio", "init", "--administrator", "ada", *store)
    old.call("studio", "add-documents", "world", "--available", *store)
    old.call("studio", "draft", "--task", "T3.2", "--models", "fathom/lexical,fathom/guess", "--samples", "4", *store)
    before = figures(old, place)
    backup = folder / "studio.backup"
    old.call("studio", "backup", *store, "--out", backup)
    began = time.monotonic()
    with THIS.serving(folder, "studio", *store) as address:
        ready = get(f"{address}health/ready")
        seconds = time.monotonic() - began
        assert ready.json()["ready"], ready.text
    THIS.call("studio", "audit", *store)
    after = figures(THIS, place)
    assert all(after[name] == value for name, value in before.items()), (before, after)
    # The newest version reads the backup of the earlier one, and the earlier one its own.
    THIS.call("studio", "restore", backup, "--store", folder / "restored") if "://" not in place else None
    old.call("studio", "restore", backup, "--store", rollback)
    assert figures(old, rollback) == before
    return {**before, "ready after (s)": round(seconds, 1)}


def figures(version: Version, place: str) -> dict[str, Any]:
    """What a studio has, counted in its tables."""
    from sqlalchemy import create_engine, text

    url = place if "://" in place else f"sqlite:///{place}/studio.sqlite"
    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            found: dict[str, Any] = {
                name: connection.execute(text(f"SELECT COUNT(*) FROM {name}")).scalar_one()
                for name in ("entries", "documents", "texts", "samples")
            }
            found["head"] = connection.execute(text("SELECT hash FROM head")).scalar_one()[:16]
    finally:
        engine.dispose()
    return found


def main() -> int:
    """Upgrades each kind of server on each kind of store from each commit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commits", nargs="+", default=COMMITS)
    parser.add_argument("--kinds", nargs="+", default=("board", "studio"))
    parser.add_argument("--places", nargs="+", default=("sqlite", "postgresql"))
    asked = parser.parse_args()
    from postgres import postgres

    with tempfile.TemporaryDirectory() as top, postgres() as database:
        for number, commit in enumerate(asked.commits):
            old = earlier(commit, Path(top) / str(number))
            for kind in asked.kinds:
                if kind == "studio" and "studio" not in old.call("--help"):
                    print(f"{commit} has no studio")
                    continue
                for place in asked.places:
                    folder = Path(top) / f"{number}-{kind}-{place}"
                    folder.mkdir()
                    stores = _stores(place, database, f"{kind}{number}", folder)
                    upgrade = upgrade_board if kind == "board" else upgrade_studio
                    print(commit, kind, place, json.dumps(upgrade(old, *stores, folder)), flush=True)
    return 0


def _stores(place: str, database: str, name: str, folder: Path) -> tuple[str, str]:
    """An empty store, and one for the way back."""
    if place == "sqlite":
        return str(folder / "store"), str(folder / "back-store")
    import psycopg

    names = (name, f"{name}back")
    with psycopg.connect(database, autocommit=True) as connection:
        for one in names:
            connection.execute(f"CREATE DATABASE {one}".encode())
    base = database.rpartition("/")[0].replace("postgresql://", "postgresql+psycopg://")
    return f"{base}/{names[0]}", f"{base}/{names[1]}"


if __name__ == "__main__":
    sys.exit(main())
