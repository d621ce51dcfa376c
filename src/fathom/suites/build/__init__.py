"""Builds suites: turns documents into recipes for every item at every length, in one folder.

The folder holds ``samples.parquet`` (recipes), ``documents.parquet`` (the texts they refer to) and ``manifest.json``.
It appears complete or not at all; building the same suite again finds its manifest and does nothing.
"""

import csv
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from stat import S_ISDIR
from typing import Any

from fathom.documents.corpus import is_world, parse_spec
from fathom.documents.corpus.questions import checksum
from fathom.documents.corpus.spec import path_of
from fathom.documents.records import Walker
from fathom.documents.sources.errata import checksum as errata_checksum
from fathom.documents.sources.errata import read_errata
from fathom.documents.sources.finder import in_short
from fathom.parallel.units import Engine
from fathom.plugins import loading
from fathom.printing import printable, readable, several
from fathom.score.checks import check_scorer
from fathom.suites import suitefile
from fathom.suites.build.clusters import shared_clusters
from fathom.suites.build.config import BuildConfig, configure
from fathom.suites.build.items import Contexts, Part, expected
from fathom.suites.build.material import Material, Reading, gather
from fathom.suites.build.notes import counted_otherwise
from fathom.suites.build.units import built_tasks
from fathom.suites.compose import CorpusTooSmallError, CountedTexts
from fathom.suites.registry import get_task
from fathom.suites.suitefile.pools import shared_contexts
from fathom.tokens.counts import CountCache, TokenCounter, cache_folder
from fathom.tokens.tokenizers import Tokenizer, get_tokenizer, is_path
from fathom.types import Document, FathomError, Json, Sample, Span
from fathom.world.corpus import STATE
from fathom.world.private import read_private

__all__ = ["Beside", "BuildConfig", "Built", "build", "configure"]

FORMAT = 4
TRIED, MOST_TRIED = 20, 16_384
"""Items of a task in a language that shortcuts are tried on at each length, and the most tokens of these prompts."""
LISTED = 100  # problems of the corpus listed in the manifest; those of strict sources are all listed
SHOWN = 10  # problems shown in an error message


@readable
@dataclass(frozen=True)
class Built:
    """A finished build: its folder, its manifest, and whether it was built now."""

    folder: Path
    manifest: Mapping[str, Any]
    fresh: bool


@dataclass(frozen=True, slots=True)
class Beside:
    """What a manifest has beside its suite.

    Attributes:
        config: The record of the configuration file; None without one.
        shortcuts: Measures what replies without reading score, from some samples of each task and length and the texts
            of their documents by id; None to leave it out.
    """

    config: Json = None
    shortcuts: Callable[[Sequence[Sample], Mapping[str, str]], Json] | None = None


def build(
    wanted: BuildConfig,
    out: Path,
    *,
    force: bool = False,
    allow_unread: bool = False,
    progress: Callable[[int, int], None] | None = None,
    reading: Reading | None = None,
    engine: Engine | None = None,
    beside: Beside | None = None,
) -> Built:
    """Build a suite into a folder.

    Args:
        out: The folder; created if missing.
        force: Replace a folder that holds another suite, or an earlier format of this one.
        allow_unread: Build although more than a tenth of the files of a corpus are not read.
        progress: Called with (samples built, samples in total).
        reading: Called with the bytes read of documents or of a file of threads, and their size, None if unknown.
        engine: Builds the tasks elsewhere, each on its own, from the documents that are read here. Tasks are kept
            beside the folder until all are built: the same call resumes. The suite is the same.
        beside: What the manifest has beside the suite.

    Returns:
        The folder and its manifest; ``fresh`` is False if the same suite already existed.

    Raises:
        FathomError: The corpus has too few documents, a length is impossible, or the folder is in use.
    """
    tokenizer = get_tokenizer(wanted.tokenizer)
    inputs = _inputs(wanted, tokenizer)
    known = _known(out, force)
    older = known is not None and known.get("format", 1) < suitefile.FORMAT
    if known is not None and known["inputs"] == inputs and not (force and older):
        return Built(out, known, fresh=False)
    _check_place(out, force)
    with closing(CountCache(cache_folder() / "counts.sqlite")) as cache:
        material = gather(wanted, counter := TokenCounter(tokenizer, cache), reading, allow_unread=allow_unread)
        kept = out.with_name(f"{out.name}.part")
        with _naming_unread(material):
            built = built_tasks(wanted, material, inputs, engine, kept) if engine is not None else None
            with suitefile.fresh_folder(out) as folder:
                manifest = _write(folder, wanted, inputs, material, counter, progress, built, beside or Beside())
                # Another build may have finished in the meantime.
                if (current := _known(out, force)) is None or current["inputs"] != inputs:
                    _check_place(out, force)
        if engine is not None:
            kept.unlink(missing_ok=True)
    return Built(out, manifest, fresh=True)


def _known(out: Path, force: bool) -> Mapping[str, Any] | None:
    """The manifest of the suite in a folder; None if there is none, or if it is damaged and to be replaced."""
    try:
        if not suitefile.is_suite(out):
            return None
        suite = suitefile.open_suite(out)
        suite.check()
        return suite.manifest
    except FathomError:
        if force:
            return None
        raise
    except OSError as error:
        raise FathomError(f"{out}: cannot be read: {error.strerror or error}") from error


def _check_place(out: Path, force: bool) -> None:
    """Check that a folder is empty, or holds a suite that may be replaced."""
    if str(out).encode(errors="replace").decode() != str(out):
        raise FathomError(f"{printable(str(out))}: the name is not valid text; choose another `out`")
    if suitefile.check_contents(out, (*suitefile.FILES, suitefile.LEFT_OUT), "a suite") and not force:
        raise FathomError(f"{out} holds another suite; choose another `out`, or `force` to replace it")


def _inputs(wanted: BuildConfig, tokenizer: Tokenizer) -> Mapping[str, Json]:
    """All inputs that determine the build, as JSON; files are represented by size and time, which is quick."""
    inputs: dict[str, Any] = {
        **asdict(_as_first_named(wanted)),
        "format": FORMAT,
        "tokenizer_fingerprint": tokenizer.fingerprint,
        "task_versions": {(task := get_task(name)).first_name: task.version for name in wanted.tasks},
        "corpus_state": [_state(spec) for spec in wanted.given()],
    }
    if files := loading.records({wanted.suite, *wanted.tasks}):
        inputs["plugins"] = [file["sha256"] for file in files]
    # The content of tables of questions counts, not their names.
    del inputs["questions"]
    if wanted.questions:
        inputs["questions"] = [checksum(path_of(path)) for path in wanted.questions]
    # The content of prompts counts, not its files.
    del inputs["templates"]
    if wanted.templates:
        inputs["templates_state"] = [_state(spec) for spec in wanted.templates]
    # So does that of errata, where documents can have them.
    del inputs["errata"]
    if wanted.errata or wanted.has_sources():
        inputs["errata"] = errata_checksum(read_errata(wanted.errata))
    if wanted.alone and not all(get_task(name).gold_alone for name in wanted.tasks):
        inputs["needles_alone"] = True  # earlier versions left needles out
    for name in ("padded", "unnamed", "each_length", "dials"):  # nor did they have such prompts
        if not inputs[name]:
            del inputs[name]
    # The content of a family counts, not its folder.
    del inputs["family"]
    if wanted.family:
        inputs["family"] = read_private(Path(wanted.family)).digest
    if not wanted.grids:  # suites without grids were built before grids existed
        del inputs["grids"]
    return _storable(inputs)


def _as_first_named(wanted: BuildConfig) -> BuildConfig:
    """The configuration with the first names of its tasks, so that renamed tasks give the same content as before."""
    first = {name: get_task(name).first_name for name in wanted.tasks}
    return replace(
        wanted,
        suite=",".join(first.get(name, name) for name in wanted.suite.split(",")),
        tasks=tuple(first.values()),
        where=tuple((name, tuple(first.get(value, value) for value in values)) for name, values in wanted.where),
        grids=tuple((first.get(name, name), grid) for name, grid in wanted.grids),
    )


def _storable(facts: Mapping[str, Any]) -> Mapping[str, Json]:
    """Facts as JSON in valid UTF-8: file names can have undecodable bytes."""
    text = json.dumps(facts, ensure_ascii=False).encode(errors="replace")
    plain: Mapping[str, Json] = json.loads(text)
    return plain


def _state(spec: str) -> str:
    """Changes if a corpus does: sizes and times of its files, or the state of the generator of ``world``."""
    if is_world(spec):
        return STATE
    digest = hashlib.sha256()
    path = path_of(parse_spec(spec)[0])
    with suppress(OSError, FathomError):  # reported when it is read
        for file in _files_of(path):
            with suppress(OSError):  # a dangling link or an unreadable file: reported when it is read
                facts = file.stat()
                if not S_ISDIR(facts.st_mode):
                    digest.update(f"{file}|{facts.st_size}|{facts.st_mtime_ns}\n".encode(errors="replace"))
    return digest.hexdigest()[:16]


def _files_of(path: Path) -> Iterator[Path]:
    """A file, or all below a folder, in the order of their paths."""
    if not path.is_dir():
        yield path
        return
    walker = Walker(path, hidden=True, by_parts=True)
    yield from map(walker.path, walker)


def _write(
    folder: Path,
    wanted: BuildConfig,
    inputs: Mapping[str, Json],
    material: Material,
    counter: TokenCounter,
    progress: Callable[[int, int], None] | None,
    built: Mapping[str, Mapping[str, Part]] | None,
    beside: Beside,
) -> Mapping[str, Json]:
    texts = CountedTexts(material.all(), counter)
    made = Contexts(wanted, material, texts, built)
    counts: dict[str, int] = {}
    used: set[str] = set()
    tried: dict[tuple[str, int, str], dict[str, Sample]] = {}
    with suitefile.SampleWriter(folder) as writer:
        for done, samples in enumerate(made, start=1):
            for sample in samples:
                if sample.task not in counts:
                    check_scorer(get_task(sample.task), sample)
                writer.add(sample)
                counts[sample.task] = counts.get(sample.task, 0) + 1
                if sample.whole and sample.length <= MOST_TRIED:
                    first = tried.setdefault((sample.task, sample.length, sample.language), {})
                    if len(first) < TRIED:
                        first.setdefault(sample.item, sample)
                used.update(part.doc for part in sample.parts if isinstance(part, Span))
            if progress:
                progress(done, max(done, expected(wanted, material)))
    if not counts:
        raise FathomError(f"nothing to build: {_why_nothing(wanted, material, made.notes, made.values)}")
    if shared := shared_clusters(made.clusters):
        suitefile.add_facets(folder, {item: {"cluster": cluster} for item, cluster in shared.items()})
    if made.left_out:
        _write_left_out(folder / suitefile.LEFT_OUT, made.left_out)
    documents = [texts.documents[id] for id in sorted(used)]
    suitefile.write_documents(folder, documents)
    facts = {
        "fathom": "suite",
        "suite": wanted.suite,
        "fingerprint": _fingerprint(inputs, documents, material),
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
        **({"questions": list(wanted.questions)} if wanted.questions else {}),
        "closed_book": wanted.closed_book,
        "samples": counts,
        "documents": len(documents),
        **({"errata": list(material.faulty.values())} if material.faulty else {}),
        **({"gold": made.gold} if made.gold else {}),
        **({"pools": made.pools} if made.pools else {}),
        **({"questions_left_out": len({tuple(row[1:3]) for row in made.left_out})} if made.left_out else {}),
        "notes": [*counted_otherwise(wanted), *made.notes, *_more_documents(made.pools)],
        "left_out": [*map(str, material.bad), *material.problems[:LISTED]],
        "left_out_in_all": len(material.bad) + len(material.problems),
        "unread": [file.short for file in material.unread],
        "files_of_corpus": material.read,
        **({"files_of_data": {"not_read": material.passed}} if material.passed else {}),
        "duplicates": material.duplicates,
        "inputs": inputs,
    }
    if material.wording.tasks:
        facts["official_prompts"] = material.wording.record()
    if beside.shortcuts is not None:
        bodies = {document.id: document.text for document in documents}
        facts["shortcuts"] = beside.shortcuts([sample for items in tried.values() for sample in items.values()], bodies)
    if beside.config is not None:
        facts["config"] = beside.config
    if files := loading.records({wanted.suite, *wanted.tasks}):
        facts["plugins"] = files
    manifest = _storable(facts)
    return suitefile.write_manifest(folder, manifest)


def _write_left_out(path: Path, rows: Sequence[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8-sig", newline="") as stream:  # with the mark that spreadsheets look for
        csv.writer(stream).writerows([("task", "document", "question", "reason"), *rows])


def _more_documents(pools: list[Any]) -> list[str]:
    """Notes on lengths whose contexts use most of their pool."""
    return [f"{note}; give more documents" for note in shared_contexts(pools)]


@contextmanager
def _naming_unread(material: Material) -> Iterator[None]:
    """An error about too few documents begins with those that could not be read, which may be why."""
    try:
        yield
    except FathomError as error:
        if not (isinstance(error.__cause__, CorpusTooSmallError) and (unread := _unread(material))):
            raise
        raise FathomError("\n  ".join([*unread, str(error)])) from error


def _unread(material: Material) -> list[str]:
    """What could not be read, in lines: the first ones of it."""
    lines = [*in_short(material.bad), *material.problems[:SHOWN], *map(str, material.unread)]
    more = len(material.problems) - SHOWN
    return [*lines, f"and {several(more, 'more problem')}"] if more > 0 else lines


def _why_nothing(wanted: BuildConfig, material: Material, notes: Sequence[str], values: suitefile.Values) -> str:
    """Why there is no sample, and what could not be read."""
    if values and ("length" in values or not notes):  # there were samples, but none with the requested facets
        return suitefile.why_none(dict(wanted.where), values)
    # Without documents, notes on tasks say nothing.
    why = "; ".join(notes if material.languages() else material.notes) or "no document could be read"
    return "\n  ".join([why, *_unread(material)])


def _fingerprint(inputs: Mapping[str, Json], documents: Sequence[Document], material: Material) -> str:
    """Identity of the content: the configuration without file times, and the texts used."""
    parts = {
        key: value
        for key, value in inputs.items()
        if key not in ("corpus_state", "templates_state", "corpus", "own", "threads", "cases", "data", "skip_bad")
        and not (key == "tokenizer" and is_path(str(value)))  # its vocabulary has a fingerprint
    }
    texts = [document.id for document in documents]
    prompts = [dict(material.templates.prompts)] if material.templates else []
    prompts += (
        [{"/".join(key): wording.sha256 for key, wording in material.wording.tasks.items()}]
        if material.wording.tasks
        else []
    )
    content = json.dumps([parts, texts, *prompts], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]
