"""Checks of the installation: Python, libraries, tokenizer, tables of the user, keys, folder."""

import os
import platform
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path

from fathom.plugins.extras import EXTRAS, PACKAGE, install
from fathom.run.checks import Check, Diagnosis
from fathom.types import FathomError

NEEDED = 1_000_000_000
"""Bytes of free disk space below which there is a warning."""
_OURS = frozenset({"all", "docs", "test"})
_EXTRA = re.compile(r"extra *== *[\"']([\w-]+)[\"']")


def check_installation(folder: Path | None = None) -> Diagnosis:
    """Check the installation.

    Args:
        folder: Where runs would be written; the current folder by default.
    """
    place = folder or Path.cwd()
    checks = (
        _python(),
        *_libraries(),
        _tokenizer(),
        _tasks(),
        _tables(),
        _keys(),
        *_proxies(),
        _writable(place),
        _space(place),
    )
    return Diagnosis("", checks)


def _python() -> Check:
    try:
        ours = metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        ours = "of unknown version"
    versions = f"fathom {ours}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    return Check("python", "ok", versions)


def _libraries() -> list[Check]:
    """What the package requires, and what its extras do."""
    try:
        required = metadata.requires(PACKAGE) or []
    except metadata.PackageNotFoundError:
        return [Check("libraries", "unknown", f"{PACKAGE} is not installed as a package")]
    missing = [name for name in _names(required, "") if not _installed(name)]
    checks = [
        Check("libraries", "warning", f"missing: {', '.join(missing)}", f"pip install {PACKAGE}")
        if missing
        else Check("libraries", "ok", "all that are required are installed")
    ]
    extras = {name[1] for line in required if (name := _EXTRA.search(line)) is not None}
    for extra in sorted(extras - _OURS):
        absent = [name for name in _names(required, extra) if not _installed(name)]
        use = f" (for {EXTRAS[extra].use})" if extra in EXTRAS else ""
        if absent:
            checks.append(Check(f"extra {extra}", "absent", f"{', '.join(absent)} missing{use}", install(extra)))
        else:
            checks.append(Check(f"extra {extra}", "ok", f"installed{use}"))
    return checks


def _names(required: Sequence[str], extra: str) -> list[str]:
    """Names of the libraries of an extra; of those that are always required for ""."""
    names = []
    for line in required:
        library, condition, named_extra = re.match(r"[\w.-]+", line), ";" in line, _EXTRA.search(line)
        # Other conditions, such as on the system, are not checked.
        if library is not None and (named_extra[1] if named_extra else "" if not condition else None) == extra:
            names.append(library[0])
    return names


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _tokenizer() -> Check:
    from fathom.tokens.tokenizers import DEFAULT, get_tokenizer

    return _tried("tokenizer", lambda: f"{DEFAULT} counts {get_tokenizer().count('nine lanterns')} tokens, offline")


def _tasks() -> Check:
    from fathom.suites.registry import suites, tasks

    return _tried("tasks", lambda: f"{len(tasks())} tasks, {len(suites())} suites")


def _tables() -> Check:
    from fathom.models.failures import provider_errors
    from fathom.models.model_settings import model_table
    from fathom.models.prices import price_table
    from fathom.score.dialects import dialects

    return _tried(
        "tables",
        lambda: (
            f"{len(price_table())} prices, {len(model_table())} models, {len(provider_errors())} provider errors, "
            f"{len(dialects())} dialects"
        ),
    )


def _tried(name: str, describe: Callable[[], str]) -> Check:
    try:
        return Check(name, "ok", describe())
    except FathomError as error:
        return Check(name, "failed", str(error))


def _keys() -> Check:
    """Names of variables that hold keys of providers; never their values."""
    names = sorted(name for name, value in os.environ.items() if _is_key(name) and value)
    if names:
        return Check("keys", "ok", f"set: {', '.join(names)}")
    return Check("keys", "absent", "no variable such as OPENAI_API_KEY is set", "A server of your own needs none")


def _is_key(name: str) -> bool:
    return name.endswith("_API_KEY") or name in ("HF_TOKEN", "AWS_SECRET_ACCESS_KEY")


def _proxies() -> list[Check]:
    names = [
        name
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
        if os.environ.get(name) or os.environ.get(name.lower())
    ]
    if not names:
        return []
    excepted = "NO_PROXY" if os.environ.get("NO_PROXY") or os.environ.get("no_proxy") else ""
    advice = "" if excepted else "Set NO_PROXY=127.0.0.1,localhost if you use a server on this machine"
    return [Check("proxy", "ok", f"set: {', '.join([*names, *([excepted] if excepted else [])])}", advice)]


def _writable(place: Path) -> Check:
    """Whether a run's database can be written here; some network folders refuse it."""
    try:
        with tempfile.TemporaryDirectory(prefix=".fathom-doctor-", dir=place) as folder:
            store = sqlite3.connect(Path(folder) / "store.sqlite")
            try:
                mode = store.execute("PRAGMA journal_mode=WAL").fetchone()[0]
                store.execute("CREATE TABLE one (number INTEGER)")
                store.execute("INSERT INTO one VALUES (1)")
                store.commit()
            finally:
                store.close()
    except (OSError, sqlite3.Error) as error:
        return Check("folder", "failed", f"{place} cannot be written: {error}", "Give --out, or another folder")
    if mode != "wal":
        return Check("folder", "warning", f"{place}: no write-ahead log", "Give --out a folder on a local disk")
    return Check("folder", "ok", f"{place} can be written")


def _space(place: Path) -> Check:
    try:
        free = shutil.disk_usage(place).free
    except OSError as error:
        return Check("disk", "unknown", str(error))
    words = f"{free / 1e9:,.1f} GB free"
    if free < NEEDED:
        return Check("disk", "warning", words, "Large suites and runs need several gigabytes")
    return Check("disk", "ok", words)
