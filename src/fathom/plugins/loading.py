"""Python files that declare a benchmark: ``fathom build ./lost_umbrella.py``, ``fathom --plugin FILE``.

A file is only run if the user named it on this computer: on a command line, in ``FATHOM_PLUGINS`` or in
``fathom.api.use_plugin``. Suites and runs record the path and the SHA-256 of their file. A record alone never causes a
file to be run: without being named, it is only run again if the same bytes were named before, as recorded in
``~/.config/fathom/plugins.json``.
"""

import json
import os
import sys
import traceback
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import ModuleType

from fathom.printing import printable
from fathom.storage.atomic import whole_file
from fathom.storage.foreign import content_of, read_regular
from fathom.types import FathomError

VARIABLE = "FATHOM_PLUGINS"
"""Environment variable with files, separated as in ``PATH``."""
DECLARED: Mapping[str, str] = {
    "TASKS": "Task", "SUITES": "Suite", "BOARDS": "Board", "RESULTS": "Results", "METRICS": "Metric",
    "RUBRICS": "Rubric", "SOURCES": "Source",
}  # fmt: skip
"""Kinds of declarations and the names of their classes, some of which this module cannot import."""


@dataclass(frozen=True, slots=True, eq=False)
class Plugin:
    """A file in use.

    Attributes:
        sha256: Hash of its bytes.
        named: Whether it was named now; otherwise a suite or a run uses it.
    """

    path: Path
    sha256: str
    module: ModuleType
    named: bool = True

    def declares(self, kind: str) -> tuple[str, ...]:
        """The names of its declarations of a kind (``TASKS`` or ``SUITES``)."""
        return tuple(declaration.name for declaration in getattr(self.module, kind, ()))


_IN_USE: dict[str, Plugin] = {}
_READ: set[str] = set()


def in_use() -> tuple[Plugin, ...]:
    """The files in use, including those of the environment variable, which is read once."""
    if VARIABLE not in _READ:
        _READ.add(VARIABLE)  # before files are run, which may list declarations
        try:
            for name in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
                use(Path(name))
        except FathomError:
            _READ.discard(VARIABLE)
            raise
    return tuple(_IN_USE.values())


def use(path: Path | str) -> Plugin:
    """Run a file named by the user, and use its declarations; they replace those of an earlier version.

    Raises:
        FathomError: It cannot be read or run, or declares nothing.
    """
    path = Path(path).resolve()
    plugin = _used(path, content_of(path), named=True)
    _remember(plugin)
    return plugin


def use_again(recorded: object, needed_by: Path) -> None:
    """Use the files that a suite or a run was made with.

    Args:
        recorded: The result of ``records`` in a manifest.
        needed_by: The folder of the suite or run, for messages.

    Raises:
        FathomError: A file was never named on this computer, is missing, or has changed; the message says what to do.
    """
    for record in recorded if isinstance(recorded, list) else ():
        path, digest = (str(record.get(name)) if isinstance(record, Mapping) else "" for name in ("path", "sha256"))
        known = _known().get(digest)
        if any(plugin.sha256 == digest or (plugin.named and _is_of(plugin.path, path, known)) for plugin in in_use()):
            continue
        if known is None:
            raise FathomError(
                f"{needed_by}: was made with {printable(path)} (SHA-256 {printable(digest)[:12]}), a file that was "
                f"never named on this computer; if you trust it, name it: fathom --plugin FILE ..., or {VARIABLE}=FILE"
            )
        try:
            content = read_regular(Path(known))
        except OSError as error:
            raise FathomError(
                f"{needed_by}: was made with {known}, which cannot be read ({error.strerror or error}); restore it, or "
                "name it where it is now: fathom --plugin FILE ..."
            ) from None
        if sha256(content).hexdigest() != digest:
            raise FathomError(
                f"{needed_by}: was made with {known}, which has changed since; to use it as it is now, name it: "
                f"fathom --plugin {known} ...; or build the suite and run it again"
            )
        _used(Path(known), content, named=False)


def records(names: Collection[str]) -> list[dict[str, str]]:
    """What manifests record of the files that declare a suite or a task with one of these names."""
    return [
        {"path": str(plugin.path), "sha256": plugin.sha256}
        for plugin in in_use()
        if not {*plugin.declares("TASKS"), *plugin.declares("SUITES")}.isdisjoint(names)
    ]


def target_of(plugin: Plugin) -> str:
    """What to build if only a file is named: its suite, or all its tasks.

    Raises:
        FathomError: It declares several suites, or neither a suite nor a task.
    """
    suites, tasks = plugin.declares("SUITES"), plugin.declares("TASKS")
    if len(suites) > 1:
        raise FathomError(
            f"{plugin.path}: declares several suites; name one: fathom --plugin {plugin.path} build {suites[0]}"
        )
    if not suites and not tasks:
        raise FathomError(f"{plugin.path}: declares neither SUITES nor TASKS; there is nothing to build")
    return suites[0] if suites else ",".join(tasks)


def place_of(error: BaseException) -> str:
    """The file in use and the line in which an error started, "" if it started elsewhere."""
    return next(filter(None, (_place_in(error, plugin.path) for plugin in _IN_USE.values())), "")


def _place_in(error: BaseException, path: Path) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"{path}, line {lines[-1]}" if lines else ""


def _is_of(named: Path, recorded: str, known: str | None) -> bool:
    """Whether a named file is the recorded one, possibly changed: by its name, or by its last path."""
    return named.name == Path(recorded).name or str(named) == known


def _used(path: Path, content: bytes, *, named: bool) -> Plugin:
    digest = sha256(content).hexdigest()
    for plugin in [plugin for plugin in _IN_USE.values() if plugin.path == path and plugin.sha256 != digest]:
        del _IN_USE[plugin.sha256]
    known = _IN_USE.get(digest)
    if known is None or known.path != path or (named and not known.named):
        module = known.module if known else _run(path, content, digest)
        _IN_USE[digest] = Plugin(path, digest, module, named or bool(known and known.named))
    return _IN_USE[digest]


def _run(path: Path, content: bytes, digest: str) -> ModuleType:
    module = ModuleType(f"fathom_plugin_{path.stem}_{digest[:12]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses look their module up
    try:
        exec(compile(content, str(path), "exec"), vars(module))  # noqa: S102 that is what a plugin is named for
    except BaseException as error:
        del sys.modules[module.__name__]
        if isinstance(error, KeyboardInterrupt):
            raise
        place = _place_in(error, path) or str(path)
        raise FathomError(f"{place}: cannot be used: {type(error).__name__}: {printable(str(error))}") from error
    declared = [kind for kind in DECLARED if hasattr(module, kind)]
    if not declared:
        raise FathomError(f"{path}: declares none of {', '.join(DECLARED)}; see docs/how-to/adding-a-task.md")
    for kind in declared:
        values = getattr(module, kind)
        if not isinstance(values, tuple | list):
            raise FathomError(f"{path}: {kind} must be a tuple, for instance {kind} = (one,)")
        for value in values:
            if DECLARED[kind] not in (base.__name__ for base in type(value).__mro__):
                raise FathomError(
                    f"{path}: {kind} holds a value of type {type(value).__name__}, expected {DECLARED[kind]}"
                )
    return module


def _record() -> Path:
    return Path.home() / ".config" / "fathom" / "plugins.json"


def _known() -> dict[str, str]:
    """Paths of the files named on this computer, by SHA-256."""
    try:
        record = json.loads(_record().read_text("utf-8"))
    except (OSError, ValueError, RuntimeError):  # RuntimeError: no home folder
        return {}
    paths = record.items() if isinstance(record, dict) else ()
    return {digest: path for digest, path in paths if isinstance(path, str)}


def _remember(plugin: Plugin) -> None:
    known = _known()
    if known.get(plugin.sha256) == str(plugin.path):
        return
    with suppress(FathomError, OSError, RuntimeError), whole_file(_record()) as stream:
        # If it cannot be written, files must be named each time.
        json.dump({**known, plugin.sha256: str(plugin.path)}, stream, indent=2)
