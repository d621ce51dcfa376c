"""Builds suites: documents become recipes of every item at every length, in a folder of their own.

The folder holds ``samples.parquet`` (recipes), ``documents.parquet`` (the texts that they borrow from) and
``manifest.json``. It appears whole or not at all; the same build again finds its manifest and does no work.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from fathom import corpus as corpus_package
from fathom import suitefile
from fathom.corpus import Fields, is_world, parse_spec, read_corpus
from fathom.counts import CountCache, TokenCounter, cache_folder
from fathom.length import CorpusTooSmallError, Shelf, compose, format_length
from fathom.names import unknown
from fathom.registry import get_task, suites, tasks
from fathom.tasks import passages
from fathom.tokens import DEFAULT, Tokenizer, get_tokenizer
from fathom.types import Card, Document, Draw, FathomError, Json, Sample, Scene, Span, Stock, Suite, Task

FORMAT = 1
LISTED = 100  # problems of the corpus that the manifest names one by one
SECTION = 4096  # tokens; a novel as one filler would begin every context with its first page


@dataclass(frozen=True)
class Order:
    """All that decides the content of a suite; equal orders give equal bytes.

    Attributes:
        suite: Name of the suite, or the names of its tasks joined by commas.
        tasks: Task names.
        lengths: Lengths in tokens, ascending.
        items: Items per task and language.
        tokenizer: Name of the tokenizer.
        corpus: Corpus specifications: ``world``, folders or files.
        fields: Field names of the corpus files.
        seed: Seed of all draws.
        depths: Relative depths of gold text to sweep; empty for a random depth per item.
        languages: Languages of the prompts; empty for those of the corpus.
        exact: Whether to fill each budget to the last token.
    """

    suite: str
    tasks: tuple[str, ...]
    lengths: tuple[int, ...]
    items: int = 50
    tokenizer: str = DEFAULT
    corpus: tuple[str, ...] = ("world",)
    fields: Fields = field(default_factory=Fields)
    seed: int = 0
    depths: tuple[float, ...] = ()
    languages: tuple[str, ...] = ()
    exact: bool = False


@dataclass(frozen=True)
class Built:
    """A finished build: where it is, its manifest, and whether there was anything to do."""

    folder: Path
    manifest: Mapping[str, Any]
    fresh: bool


def order(
    target: str,
    *,
    lengths: Sequence[int] | None = None,
    items: int | None = None,
    tokenizer: str | None = None,
    corpus: Sequence[str] | None = None,
    fields: Fields | None = None,
    seed: int = 0,
    depths: Sequence[float] = (),
    languages: Sequence[str] | None = None,
    exact: bool = False,
) -> Order:
    """An order for a suite or for tasks by name; what is None is left to the suite or to the defaults.

    Args:
        target: Name of a suite, or names of tasks joined by commas.
        lengths: See ``Order``, as for all that follow.
        items: Items.
        tokenizer: Tokenizer.
        corpus: Corpus specifications.
        fields: Field names.
        seed: Seed.
        depths: Depths.
        languages: Languages.
        exact: Exact.

    Raises:
        FathomError: No suite or task has that name, or a choice is impossible.
    """
    suite = suites().get(target) or _suite_of_tasks(target)
    lengths = suite.lengths if lengths is None else lengths
    if not lengths:
        raise FathomError("--lengths: expected at least one length, for instance 2k,4k,8k")
    if (items := suite.items if items is None else items) < 1:
        raise FathomError(f"--items {items}: expected at least 1")
    if any(not 0 <= depth <= 1 for depth in depths):
        raise FathomError(f"--depth {','.join(map(str, depths))}: depths lie between 0 (first) and 1 (last)")
    return Order(
        suite=suite.name,
        tasks=suite.tasks,
        lengths=tuple(sorted(set(lengths))),
        items=items,
        tokenizer=tokenizer or DEFAULT,
        corpus=tuple(corpus or (suite.corpus,)),
        fields=fields or Fields(),
        seed=seed,
        depths=tuple(sorted({round(depth, 4) for depth in depths})),
        languages=tuple(dict.fromkeys(languages or ())),
        exact=exact,
    )


def _suite_of_tasks(names: str) -> Suite:
    """A suite of tasks named one by one, at the lengths of everyday use."""
    wanted = tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not wanted:
        raise FathomError("name a suite or tasks to build (see `fathom list suites` and `fathom list tasks`)")
    if len(wanted) == 1 and wanted[0] not in tasks():
        raise unknown("suite or task", wanted[0], {**suites(), **tasks()})
    return Suite(",".join(wanted), tuple(get_task(name).name for name in wanted), (2048, 4096, 8192), "")


def build(
    wanted: Order, out: Path, *, force: bool = False, progress: Callable[[int, int], None] | None = None
) -> Built:
    """Build a suite into a folder.

    Args:
        wanted: What to build.
        out: The folder; made if it is not there.
        force: Replace a folder that holds another suite.
        progress: Called with (samples made, samples in all).

    Returns:
        The folder and its manifest; ``fresh`` is False where the same suite was there already.

    Raises:
        FathomError: The corpus gives no document or too few, a length is impossible, or the folder is in use.
    """
    tokenizer = get_tokenizer(wanted.tokenizer)
    inputs = _inputs(wanted, tokenizer)
    known = _known(out, force)
    if known is not None and known["inputs"] == inputs:
        return Built(out, known, fresh=False)
    if out.exists() and not force and (known is not None or not out.is_dir() or any(out.iterdir())):
        what = "another suite" if known is not None else "something else"
        raise FathomError(f"{out} holds {what}; choose another --out, or --force to replace it")
    cache = CountCache(cache_folder() / "counts.sqlite")
    try:
        corpora = _corpora(wanted, counter := TokenCounter(tokenizer, cache))
        with suitefile.fresh_folder(out) as folder:
            manifest = _write(folder, wanted, inputs, corpora, counter, progress)
    finally:
        cache.close()
    return Built(out, manifest, fresh=True)


def _known(out: Path, force: bool) -> Mapping[str, Any] | None:
    """The manifest of the suite in a folder; None where there is none, or a damaged one that is to be replaced."""
    try:
        return suitefile.read_manifest(out) if suitefile.is_suite(out) else None
    except FathomError:
        if force:
            return None
        raise


def _inputs(wanted: Order, tokenizer: Tokenizer) -> Mapping[str, Json]:
    """What decides the bytes of a build, as JSON; files count by their sizes and times, so that asking is cheap."""
    inputs = {
        **asdict(wanted),
        "format": FORMAT,
        "tokenizer_fingerprint": tokenizer.fingerprint,
        "task_versions": {name: get_task(name).version for name in wanted.tasks},
        "corpus_state": [_state(spec) for spec in wanted.corpus],
    }
    plain: Mapping[str, Json] = json.loads(json.dumps(inputs))
    return plain


def _state(spec: str) -> str:
    """What changes when a corpus does: the sizes and times of its files, or the sources that generate ``world``."""
    digest = hashlib.sha256()
    if is_world(spec):
        sources = Path(corpus_package.__file__).parent / "world"
        for file in sorted(p for p in sources.rglob("*") if p.suffix in (".py", ".txt")):
            digest.update(file.read_bytes())
        return digest.hexdigest()[:16]
    path = Path(parse_spec(spec)[0]).expanduser()
    for file in sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]:
        if file.exists():
            stat = file.stat()
            digest.update(f"{file}|{stat.st_size}|{stat.st_mtime_ns}\n".encode(errors="replace"))
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class _Corpora:
    """Documents by language, and what was left out of the corpus."""

    languages: Mapping[str, Sequence[Document]]
    problems: Sequence[str] = ()
    duplicates: int = 0


def _corpora(wanted: Order, counter: TokenCounter) -> _Corpora:
    """The documents of all corpora by language; those of ``world`` in the languages asked for, English by default."""
    languages: dict[str, dict[str, Document]] = {language: {} for language in wanted.languages}
    problems: list[str] = []
    repeated = 0
    for spec in wanted.corpus:
        if is_world(spec):
            documents = [d for language in wanted.languages or ("en",) for d in _world(spec, wanted, language, counter)]
        else:
            corpus = read_corpus(spec, wanted.fields)
            documents = list(corpus.documents)
            problems += map(str, corpus.problems)
            repeated += len(corpus.duplicates)
        for document in documents:
            if wanted.languages and document.language not in wanted.languages:
                continue
            known = languages.setdefault(document.language, {})
            repeated += document.id in known
            known.setdefault(document.id, document)
    for language, found in languages.items():
        if not found:
            raise FathomError(
                f"{', '.join(wanted.corpus)}: no document in language {language!r}; drop it from --language"
            )
    return _Corpora({language: list(found.values()) for language, found in languages.items()}, problems, repeated)


def _world(spec: str, wanted: Order, language: str, counter: TokenCounter) -> list[Document]:
    """As many articles as the longest context takes, with room to draw from, and two for each item."""
    from fathom.corpus.world import generate

    choices = parse_spec(spec)[1]
    unknown = set(choices) - {"seed"}
    if unknown:
        raise FathomError(f"{spec}: `world` takes seed=N only, not {', '.join(sorted(unknown))}")
    seed = choices.get("seed", str(wanted.seed))
    if not seed.lstrip("-").isdigit():
        raise FathomError(f"{spec}: seed={seed} is not a whole number")
    documents: list[Document] = []
    tokens, needed = 0, wanted.lengths[-1] * 5 // 4 + 20_000
    for document in generate(int(seed), language):
        if tokens >= needed and len(documents) >= 2 * wanted.items:
            break
        documents.append(document)
        tokens += counter.size(document)
    return documents


def _write(
    folder: Path,
    wanted: Order,
    inputs: Mapping[str, Json],
    corpora: _Corpora,
    counter: TokenCounter,
    progress: Callable[[int, int], None] | None,
) -> Mapping[str, Json]:
    shelf = Shelf({d.id: d for documents in corpora.languages.values() for d in documents}, counter)
    notes: list[str] = []
    counts: dict[str, int] = {}
    used: set[str] = set()
    with suitefile.SampleWriter(folder) as writer:
        for sample in _samples(wanted, corpora, shelf, notes):
            writer.add(sample)
            counts[sample.task] = counts.get(sample.task, 0) + 1
            used.update(part.doc for part in sample.parts if isinstance(part, Span))
            if progress:
                progress(sum(counts.values()), _expected(wanted, corpora))
    documents = [shelf.documents[id] for id in sorted(used)]
    suitefile.write_documents(folder, documents)
    manifest: dict[str, Json] = {
        "fathom": "suite",
        "suite": wanted.suite,
        "fingerprint": _fingerprint(inputs, documents),
        "tokenizer": wanted.tokenizer,
        "lengths": list(wanted.lengths),
        "tasks": list(counts),
        "languages": list(corpora.languages),
        "items": wanted.items,
        "seed": wanted.seed,
        "depths": list(wanted.depths),
        "exact": wanted.exact,
        "corpus": list(wanted.corpus),
        "samples": counts,
        "documents": len(documents),
        "notes": list(notes),
        "left_out": list(corpora.problems[:LISTED]),
        "left_out_in_all": len(corpora.problems),
        "duplicates": corpora.duplicates,
        "inputs": inputs,
    }
    suitefile.write_manifest(folder, manifest)
    return manifest


def _fingerprint(inputs: Mapping[str, Json], documents: Sequence[Document]) -> str:
    """Identity of the content: what was ordered, without when the files were written, and the texts used."""
    parts = {key: value for key, value in inputs.items() if key not in ("corpus_state", "corpus")}
    content = json.dumps([parts, [document.id for document in documents]], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _expected(wanted: Order, corpora: _Corpora) -> int:
    """Samples of a build whose corpus has material for every item."""
    per_task = (len(wanted.depths) or 1 if get_task(name).positioned else 1 for name in wanted.tasks)
    return sum(per_task) * wanted.items * len(wanted.lengths) * len(corpora.languages)


def _samples(wanted: Order, corpora: _Corpora, shelf: Shelf, notes: list[str]) -> Iterator[Sample]:
    """Samples task by task and item by item, lengths ascending, so that common prefixes follow each other."""
    for name in wanted.tasks:
        task = get_task(name)
        for language, documents in corpora.languages.items():
            if language not in task.languages:
                notes.append(f"{name}: has no prompts in language {language!r}; left out")
                continue
            scene = Scene(language, documents, wanted.lengths[0], shelf.counter)
            stock = task.stock(scene) if task.stock else running_text(scene)
            if stock.cards is not None and len(stock.cards) < wanted.items:
                if not stock.cards:
                    raise FathomError(
                        f"{name}: no document in language {language!r} can be used; the task needs {task.needs} "
                        f"that fit a prompt of {format_length(wanted.lengths[0])} tokens"
                    )
                notes.append(
                    f"{name}: {len(stock.cards)} of {wanted.items} items in language {language!r}; "
                    f"the corpus has no more ({task.needs})"
                )
            for index in range(wanted.items if stock.cards is None else min(wanted.items, len(stock.cards))):
                yield from _item(wanted, task, scene, stock, index, shelf)


def running_text(scene: Scene) -> Stock:
    """The stock of tasks that only need text: documents, the long ones in sections."""
    return Stock(passages(scene, SECTION))


def _item(wanted: Order, task: Task, scene: Scene, stock: Stock, index: int, shelf: Shelf) -> Iterator[Sample]:
    """One item at every length and depth."""
    key = f"{wanted.seed}|{task.name}|{scene.language}"
    item = f"{task.name}/{scene.language}/{index:04d}"
    card = _deal(stock, key, index)
    gold = card.document.id if card else ""
    fillers = [span for span in stock.fillers if span.doc != gold]
    Random(f"{key}|{index}|fillers").shuffle(fillers)
    anywhere = Random(f"{key}|{index}|depth").random()
    swept = wanted.depths if task.positioned else ()
    for depth in swept or (anywhere,):
        plan = task.plan(Draw(scene, Random(f"{key}|{index}"), depth, len(fillers), card))
        for length in wanted.lengths:
            try:
                made = compose(plan, length, fillers, shelf, exact=wanted.exact)
            except CorpusTooSmallError as error:
                held = f"{len(scene.documents):,} documents in language {scene.language!r}"
                hint = "give more, drop the length, or name other languages with --language"
                raise FathomError(f"{item} at {format_length(length)}: {error}; it has {held}: {hint}") from error
            except FathomError as error:
                raise FathomError(f"{item} at {format_length(length)}: {error}") from error
            facets = dict(made.ending.facets)
            if task.positioned:
                facets["depth"] = round(depth, 4)
                if made.depth is not None:
                    facets["depth_reached"] = round(made.depth, 4)
            yield Sample(
                id=f"{item}@{length}" + (f"/d{depth:g}" if len(swept) > 1 else ""),
                item=item,
                task=task.name,
                parts=made.parts,
                targets=made.ending.targets,
                length=length,
                tokens=made.tokens,
                language=scene.language,
                chance=made.ending.chance,
                facets=facets,
            )


def _deal(stock: Stock, key: str, index: int) -> Card | None:
    """The card of an item: each item gets another one, in an order that the seed decides."""
    if stock.cards is None:
        return None
    return stock.cards[Random(f"{key}|deck").sample(range(len(stock.cards)), len(stock.cards))[index]]
