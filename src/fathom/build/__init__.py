"""Builds suites: documents become recipes of every item at every length, in a folder of their own.

The folder holds ``samples.parquet`` (recipes), ``documents.parquet`` (the texts that they borrow from) and
``manifest.json``. It appears whole or not at all; the same build again finds its manifest and does no work.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from stat import S_ISDIR
from typing import Any

from fathom import corpus as corpus_package
from fathom import plugins, suitefile
from fathom.build.items import contexts, expected
from fathom.build.material import Material, Reading, gather
from fathom.build.notes import counted_otherwise
from fathom.build.order import Order, order
from fathom.compose import Shelf
from fathom.corpus import is_world, parse_spec
from fathom.corpus.spec import path_of
from fathom.counts import CountCache, TokenCounter, cache_folder
from fathom.printing import printable, readable
from fathom.records import walk
from fathom.registry import get_task
from fathom.sources.finder import in_short
from fathom.sources.templates import Templates
from fathom.tokens import Tokenizer, get_tokenizer, is_path
from fathom.types import Document, FathomError, Json, Span

__all__ = ["Built", "Order", "build", "order"]

FORMAT = 4
FILES = (suitefile.MANIFEST, suitefile.SAMPLES, suitefile.DOCUMENTS)
LISTED = 100  # problems of the corpus that the manifest names one by one; of strict sources it names all
SHOWN = 10  # of them in an error message


@readable
@dataclass(frozen=True)
class Built:
    """A finished build: where it is, its manifest, and whether there was anything to do."""

    folder: Path
    manifest: Mapping[str, Any]
    fresh: bool


def build(
    wanted: Order,
    out: Path,
    *,
    force: bool = False,
    config: Json = None,
    progress: Callable[[int, int], None] | None = None,
    reading: Reading | None = None,
) -> Built:
    """Build a suite into a folder.

    Args:
        wanted: What to build.
        out: The folder; made if it is not there.
        force: Replace a folder that holds another suite, or an earlier format of this one.
        config: What the manifest says of the file that options were read from; None where there is none.
        progress: Called with (samples made, samples in all).
        reading: Called with the bytes read of a file of threads and the bytes in all, None where that is not known.

    Returns:
        The folder and its manifest; ``fresh`` is False where the same suite was there already.

    Raises:
        FathomError: The corpus gives no document or too few, a length is impossible, or the folder is in use.
    """
    tokenizer = get_tokenizer(wanted.tokenizer)
    inputs = _inputs(wanted, tokenizer)
    known = _known(out, force)
    older = known is not None and known.get("format", 1) < suitefile.FORMAT
    if known is not None and known["inputs"] == inputs and not (force and older):
        return Built(out, known, fresh=False)
    _check_place(out, force)
    cache = CountCache(cache_folder() / "counts.sqlite")
    try:
        material = gather(wanted, counter := TokenCounter(tokenizer, cache), reading)
        with suitefile.fresh_folder(out) as folder:
            manifest = _write(folder, wanted, inputs, material, counter, config, progress)
            # Another build may have finished there meanwhile.
            if (there := _known(out, force)) is None or there["inputs"] != inputs:
                _check_place(out, force)
    finally:
        cache.close()
    return Built(out, manifest, fresh=True)


def _known(out: Path, force: bool) -> Mapping[str, Any] | None:
    """The manifest of the suite in a folder; None where there is none, or a damaged one that is to be replaced."""
    try:
        if not suitefile.is_suite(out):
            return None
        there = suitefile.open_suite(out)
        there.check()
        return there.manifest
    except FathomError:
        if force:
            return None
        raise
    except OSError as error:
        raise FathomError(f"{out}: cannot be read: {error.strerror or error}") from error


def _check_place(out: Path, force: bool) -> None:
    """Refuse a place that holds anything but a suite, or a suite that must not be replaced."""
    if str(out).encode(errors="replace").decode() != str(out):
        raise FathomError(f"{printable(str(out))}: the name has characters that are no text; choose another --out")
    try:
        names = sorted(entry.name for entry in out.iterdir()) if out.is_dir() else [out.name] * out.exists()
    except OSError as error:
        raise FathomError(f"{out}: cannot be read: {error.strerror or error}") from error
    if others := [name for name in names if name not in FILES or not out.is_dir()]:
        raise FathomError(f"{out} holds something else than a suite ({printable(others[0])}); choose another --out")
    if names and not force:
        raise FathomError(f"{out} holds another suite; choose another --out, or --force to replace it")


def _inputs(wanted: Order, tokenizer: Tokenizer) -> Mapping[str, Json]:
    """What decides the bytes of a build, as JSON; files count by their sizes and times, so that asking is cheap."""
    inputs: dict[str, Any] = {
        **asdict(_as_first_named(wanted)),
        "format": FORMAT,
        "tokenizer_fingerprint": tokenizer.fingerprint,
        "task_versions": {(task := get_task(name)).first_name: task.version for name in wanted.tasks},
        "corpus_state": [_state(spec) for spec in wanted.given()],
    }
    if files := plugins.records({wanted.suite, *wanted.tasks}):
        inputs["plugins"] = [file["sha256"] for file in files]
    if not wanted.grids:  # folders of suites without them were built before there were any
        del inputs["grids"]
    return _storable(inputs)


def _as_first_named(wanted: Order) -> Order:
    """The order with the first names of its tasks: a task that was renamed gives the same content as before."""
    first = {name: get_task(name).first_name for name in wanted.tasks}
    return replace(
        wanted,
        suite=",".join(first.get(name, name) for name in wanted.suite.split(",")),
        tasks=tuple(first.values()),
        where=tuple((name, tuple(first.get(value, value) for value in values)) for name, values in wanted.where),
        grids=tuple((first.get(name, name), grid) for name, grid in wanted.grids),
    )


def _storable(facts: Mapping[str, Any]) -> Mapping[str, Json]:
    """Facts as JSON that UTF-8 can hold: names of files can have bytes that are no text."""
    text = json.dumps(facts, ensure_ascii=False).encode(errors="replace")
    plain: Mapping[str, Json] = json.loads(text)
    return plain


def _state(spec: str) -> str:
    """What changes when a corpus does: the sizes and times of its files, or the sources that generate ``world``."""
    digest = hashlib.sha256()
    if is_world(spec):
        sources = Path(corpus_package.__file__).parent / "world"
        for file in sorted(p for p in sources.rglob("*") if p.suffix in (".py", ".txt")):
            digest.update(file.read_bytes())
        return digest.hexdigest()[:16]
    path = path_of(parse_spec(spec)[0])
    files = {path}
    with suppress(OSError, FathomError):  # reading it will say so
        files |= {*walk(path, hidden=True).files}
    for file in sorted(files):
        with suppress(OSError):  # a link to nowhere, or a file that may not be looked at: reading it will say so
            facts = file.stat()
            if not S_ISDIR(facts.st_mode):
                digest.update(f"{file}|{facts.st_size}|{facts.st_mtime_ns}\n".encode(errors="replace"))
    return digest.hexdigest()[:16]


def _write(
    folder: Path,
    wanted: Order,
    inputs: Mapping[str, Json],
    material: Material,
    counter: TokenCounter,
    config: Json,
    progress: Callable[[int, int], None] | None,
) -> Mapping[str, Json]:
    shelf = Shelf(material.all(), counter)
    notes = list(material.notes)
    counts: dict[str, int] = {}
    values: suitefile.Values = {}
    used: set[str] = set()
    with suitefile.SampleWriter(folder) as writer:
        for done, samples in enumerate(contexts(wanted, material, shelf, notes, values), start=1):
            for sample in samples:
                writer.add(sample)
                counts[sample.task] = counts.get(sample.task, 0) + 1
                used.update(part.doc for part in sample.parts if isinstance(part, Span))
            if progress:
                progress(done, max(done, expected(wanted, material)))
    if not counts:
        raise FathomError(f"nothing to build: {_why_nothing(wanted, material, notes, values)}")
    documents = [shelf.documents[id] for id in sorted(used)]
    suitefile.write_documents(folder, documents)
    facts = {
        "fathom": "suite",
        "suite": wanted.suite,
        "fingerprint": _fingerprint(inputs, documents, material.templates),
        "tokenizer": wanted.tokenizer,
        "lengths": list(wanted.lengths),
        "tasks": list(counts),
        "languages": material.languages(),
        "items": wanted.items,
        "seed": wanted.seed,
        "depths": list(wanted.depths),
        "common": wanted.common,
        "truncate": list(wanted.truncate),
        "prompts": wanted.prompts,
        "exact": wanted.exact,
        "corpus": list(wanted.given()),
        "closed_book": wanted.closed_book,
        "samples": counts,
        "documents": len(documents),
        "notes": [*counted_otherwise(wanted), *notes],
        "left_out": [*map(str, material.bad), *material.problems[:LISTED]],
        "left_out_in_all": len(material.bad) + len(material.problems),
        "unread": material.unread,
        "duplicates": material.duplicates,
        "inputs": inputs,
    }
    if config is not None:
        facts["config"] = config
    if files := plugins.records({wanted.suite, *wanted.tasks}):
        facts["plugins"] = files
    manifest = _storable(facts)
    return suitefile.write_manifest(folder, manifest)


def _why_nothing(wanted: Order, material: Material, notes: Sequence[str], values: suitefile.Values) -> str:
    """Why no sample was made, and what could not be read."""
    if values and ("length" in values or not notes):  # there were samples, but none with the facets asked for
        return suitefile.why_none(dict(wanted.where), values)
    # Without any document there is nothing to say of the tasks.
    why = "; ".join(notes if material.languages() else material.notes) or "no document could be read"
    lines = [*in_short(material.bad), *material.problems[:SHOWN], *material.unread]
    more = len(material.problems) - SHOWN
    return "\n  ".join([why, *lines, *([f"and {more:,} more problems"] if more > 0 else [])])


def _fingerprint(inputs: Mapping[str, Json], documents: Sequence[Document], templates: Templates | None) -> str:
    """Identity of the content: what was ordered, without when the files were written, and the texts used."""
    parts = {
        key: value
        for key, value in inputs.items()
        if key not in ("corpus_state", "corpus", "own", "threads", "cases", "data", "skip_bad")
        and not (key == "tokenizer" and is_path(str(value)))  # its vocabulary has a fingerprint
    }
    texts = [document.id for document in documents]
    content = json.dumps([parts, texts, *([dict(templates.prompts)] if templates else [])], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]
