"""The authors' texts of prompts (``--prompts official``): from a copy of their repository, or a file of the user's.

A file is TOML with a table for each task, whose keys are the names of ``Task.wording``; ``prompt``, with ``{context}``,
stands for the texts before and after the context. A table of a language in it, such as ``[single_doc_qa.zh]``, has the
texts in another language than English.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fathom.documents.corpus.spec import path_of
from fathom.documents.records import path_text, walk
from fathom.documents.sources.finder import check_folder
from fathom.documents.sources.wording import CONTEXT, around_context, checksum_of, fields_of, format_string
from fathom.plugins.discovery import declared
from fathom.storage.encodings import decode
from fathom.storage.foreign import read_regular
from fathom.storage.toml import parse_toml
from fathom.suites.build.config import RECORDS, BuildConfig
from fathom.suites.registry import get_task
from fathom.types import Facet, FathomError, Json, PromptSource, Task, Wording

OWN_FILE = ".toml"
ENGLISH = "en"


@dataclass(frozen=True, slots=True)
class TaskWording:
    """The authors' texts for one task in one language.

    Attributes:
        texts: Texts by name; for ``str.format`` where our own text has placeholders.
        source: Name of the repository, or of the user's file.
        sha256: Checksum of the texts.
    """

    texts: Mapping[str, str]
    source: str
    sha256: str


@dataclass(frozen=True, slots=True)
class OfficialWording:
    """All texts that were found.

    Attributes:
        tasks: By name of the task and language.
        files: Path and SHA-256 of each file that was read, by name of the source.
        claimed: The files that were read, as paths.
    """

    tasks: Mapping[tuple[str, str], TaskWording] = field(default_factory=dict)
    files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    claimed: frozenset[Path] = frozenset()

    def record(self) -> dict[str, Json]:
        """The manifest's record: files by source, and source and checksum by task."""
        return {
            "sources": {name: dict(files) for name, files in self.files.items()},
            "tasks": {
                f"{task}/{language}": {"source": wording.source, "sha256": wording.sha256}
                for (task, language), wording in self.tasks.items()
            },
        }


def prompt_sources() -> Mapping[str, PromptSource]:
    """The repositories from which prompts can be read, by name."""
    return declared("prompt_sources", lambda source: source.name)


def read_wording(wanted: BuildConfig) -> OfficialWording:
    """The authors' texts for the tasks of a build.

    A file of the user's takes precedence over repositories, which are found under ``--templates`` and ``--data``.

    Raises:
        FathomError: A file cannot be read or has unexpected content, two copies of a repository differ, or there is
            nothing for any task of a suite whose prompts could be replaced.
    """
    tasks = {name: task for name in wanted.tasks if (task := get_task(name)).wording and task.wording.texts}
    given = [path_of(path) for path in wanted.templates]
    tables = [path for path in given if path.suffix == OWN_FILE]
    folders = [path for path in given if path not in tables] + [path_of(path) for path in wanted.data]
    tasks_found: dict[tuple[str, str], TaskWording] = {}
    files: dict[str, dict[str, str]] = {}
    claimed: set[Path] = set()
    for path in tables:
        content = _content(path)
        for key, texts in _tables(content, path):
            name = key[0]
            if name not in tasks:
                continue
            if key in tasks_found:
                raise FathomError(f"{path_text(path)}: {name}: another file has this prompt too; leave one out")
            tasks_found[key] = _checked(tasks[name], texts, path.name, f"{path_text(path)}: {name}")
        files[path.name] = {path.name: _sha256(content)}
    for source in prompt_sources().values():
        needed = bool(tasks.keys() & set(source.tasks))
        for root, contents in _copies(source, folders):
            texts_by_task = source.read(contents) if needed else {}
            if needed and not texts_by_task:
                continue
            claimed.update(root / name for name in contents)
            if not needed:
                continue
            sums = {name: _sha256(content) for name, content in contents.items()}
            if files.setdefault(source.name, sums) != sums:
                raise FathomError(f"{path_text(root)}: differs from another copy of {source.name}; name one of them")
            for name, prompt in texts_by_task.items():
                if name in tasks:
                    where = f"{path_text(root)}: {source.name}: {name}"
                    tasks_found.setdefault((name, source.language), _checked(tasks[name], prompt, source.name, where))
    _check_any(wanted, tasks, tasks_found)
    return OfficialWording(tasks_found, files, frozenset(claimed))


def _check_any(wanted: BuildConfig, tasks: Mapping[str, Task], wordings: Mapping[tuple[str, str], TaskWording]) -> None:
    """Check that something is found if all tasks need it; tasks on records may have prompts elsewhere."""
    if wordings or not tasks or any(name not in tasks for name in wanted.tasks):
        return
    homes = [home for home in prompt_sources().values() if tasks.keys() & set(home.tasks)]
    places = " and ".join(f"{home.name} ({home.repository}: {', '.join(home.files)})" for home in homes)
    raise FathomError(
        f"`prompts` official: no prompt of {', '.join(tasks)} found; "
        + (
            f"they are in the repository of {places}: name your copy with `templates` FOLDER, "
            if homes
            else "give them "
        )
        + ("or give them " if homes else "")
        + "in a file with `templates` FILE.toml (docs/reference/prompts.md), or leave `prompts` out"
    )


def facets(wanted: BuildConfig, task: Task, wording: Mapping[str, str], name: str = "") -> dict[str, Facet]:
    """The facets of samples that tell whose prompts they have; none without ``--prompts official``.

    Args:
        wording: The authors' texts that are used.
        name: The text that matters; "" for any.
    """
    if wanted.prompts != "official" or not (task.wording and task.wording.texts):
        return {}
    if not wording or (name and name not in wording):
        return {"prompt": "own"}
    return {"prompt": "official", "wording": checksum_of(wording)[:12]}


def missing_text(task: Task, language: str, official: OfficialWording) -> str:
    """What a task has no official text for, and what is used instead; "" if nothing is missing.

    Tasks on records say it themselves if their prompts are the publishers' templates.
    """
    wording = task.wording
    if wording is None:
        return "" if task.gold == RECORDS else "its prompt cannot be replaced: fathom's own is used"
    if not wording.texts:
        return "its prompts are those of its records, which are the authors'"
    own = official.tasks.get((task.name, language))
    if own is None:
        return f"no official prompt in language {language!r} was found: fathom's own is used"
    lacking = [name for name in wording.texts[language] if name not in own.texts]
    return f"no official text for {', '.join(lacking)}: fathom's own is used" if lacking else ""


def _copies(source: PromptSource, folders: Sequence[Path]) -> Iterator[tuple[Path, dict[str, str]]]:
    """The copies of a repository under some folders that have all of its files, each with their content."""
    first, *others = source.files
    seen: set[Path] = set()
    for folder in folders:
        check_folder(folder)
        for path in walk(folder).files:
            root = Path(*path.parts[: -len(Path(first).parts)])
            if root in seen or path != root / first or not all((root / name).is_file() for name in others):
                continue
            seen.add(root)
            yield root, {name: _content(root / name) for name in source.files}


def _tables(content: str, path: Path) -> Iterator[tuple[tuple[str, str], dict[str, str]]]:
    """The texts of a user's file by task and language."""
    for name, table in parse_toml(content, path_text(path)).items():
        task = get_task(name)  # says which tasks there are
        if not isinstance(table, dict):
            raise FathomError(f"{path_text(path)}: {name}: expected a table of texts, as in [{name}]")
        if task.wording is None or not task.wording.texts:
            raise FathomError(f"{path_text(path)}: {name}: the prompt of this task cannot be replaced; leave it out")
        inner = {key: value for key, value in table.items() if isinstance(value, dict)}
        outer = {key: value for key, value in table.items() if key not in inner}
        for language, texts in (*([(ENGLISH, outer)] if outer else []), *inner.items()):
            where = f"{path_text(path)}: {name}" + (f".{language}" if language != ENGLISH else "")
            if language not in task.wording.texts:
                raise FathomError(f"{where}: expected a language among {', '.join(task.wording.texts)}")
            for key, value in texts.items():
                if not isinstance(value, str):
                    raise FathomError(f"{where}: {key}: expected a text")
            yield (task.name, language), _parts(texts, task.wording, where)


def _parts(texts: Mapping[str, str], wording: Wording, where: str) -> dict[str, str]:
    """The texts with ``prompt`` split at the context."""
    whole = texts.get("prompt")
    if whole is None:
        return dict(texts)
    others = {name: text for name, text in texts.items() if name != "prompt"}
    names = next(iter(wording.texts.values()))
    if {"before", "after"} <= set(names) and "intro" not in names:
        before, gap, after = whole.partition(CONTEXT)
        if not gap:
            raise FathomError(f"{where}: prompt: expected {CONTEXT}")
        return {"before": before, "after": after, **others}
    if not {"intro", "question"} <= set(names):
        raise FathomError(f"{where}: prompt: this prompt has several parts; give {', '.join(names)}")
    return {**around_context(whole, f"{where}: prompt"), **others}


def _checked(task: Task, texts: Mapping[str, str], source: str, where: str) -> TaskWording:
    """The texts of a task as it uses them, with their placeholders checked.

    Raises:
        FathomError: A name is unknown, or a required placeholder is missing.
    """
    wording = task.wording
    assert wording is not None
    own = {name: fields_of(text) for texts_ in wording.texts.values() for name, text in texts_.items()}
    made: dict[str, str] = {}
    for name, text in texts.items():
        if name not in own and name not in wording.extra:
            known = ", ".join(("prompt", *own, *sorted(wording.extra)))
            raise FathomError(f"{where}: unknown text {name!r}; expected {known}")
        known_fields = own.get(name, frozenset())
        required = known_fields - wording.optional
        if known_fields or (wording.also and name in own):
            text = format_string(text, known_fields | wording.also)
            if lacking := sorted(required - fields_of(text)):
                raise FathomError(f"{where}: {name}: the placeholder {{{lacking[0]}}} is missing")
        made[name] = text
    if not made:
        raise FathomError(f"{where}: no texts; expected {', '.join(own)}")
    return TaskWording(made, source, checksum_of(made))


def _content(path: Path) -> str:
    try:
        return decode(read_regular(path))
    except (OSError, ValueError) as error:
        raise FathomError(f"{path_text(path)}: cannot be read: {error}") from error


def _sha256(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()
