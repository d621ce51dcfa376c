"""Documents for the studio: read as corpora are, put into length buckets, and compared with those that are there.

Two texts with the same id are the same text (``fathom.types.Document.id``). Nearly equal ones (another edition, an
excerpt, a copy with changes) are found by the share of the shorter text's runs of letters that the other contains,
estimated from a sketch of each text: the smallest hashes of its runs (Broder 1997, "On the Resemblance and Containment
of Documents"). Sketches are equal on all machines, so that they can be stored.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from random import Random
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fathom.benchmarks.pro.secondary_tasks import LANGUAGES
from fathom.documents.corpus import Corpus, is_world, parse_spec, read_corpus
from fathom.documents.corpus.text import document_id, normalise
from fathom.printing import readable
from fathom.studio.types import BUCKETS, NEAR, TOLERANCE, DocumentState, SetIntake, StudioDocument
from fathom.tokens.counts import CountCache, TokenCounter, cache_folder
from fathom.tokens.length import format_length
from fathom.tokens.tokenizers import Tokenizer
from fathom.types import Document, FathomError

Sketch: TypeAlias = bytes
"""Up to ``KEPT`` hashes of 8 bytes, ascending."""

LONGEST_WORLD = 32_768
EACH_WORLD = 3
"""Documents of the generated corpus for each bucket, and the longest bucket."""
KEPT = 2048
SKETCHES = 1
"""Version of sketches; increase it when ``sketch_of`` changes, and stored ones are made again."""
LONGEST_TITLE = 120
_NO_TITLE_ENDS = ",;:-，；：、"
_RUN = 16
"""Letters of a run: about three English words, or a Chinese clause."""
_NO_LETTER = re.compile(r"[\W_]+")
_HASH = np.dtype("<u8")
_ALL = (1 << 64) - 1

Hashes: TypeAlias = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class IntakeRules:
    """How documents are taken.

    Attributes:
        buckets: Length buckets in tokens.
        tolerance: Share of a bucket by which a text may be shorter or longer.
        near: Share of the shorter text from which two texts are nearly equal.
        state: State of new documents: ``collected`` to have them reviewed by people, ``available`` to use them at once.
        domain: Subject of all of them.
        format: Kind of text of all of them.
        language: Language of all of them; "" for that of each record, or as it is detected.
        licence: Licence of those that do not state their own.
        source: Where all of them are from, written before the name of the file.

    Raises:
        FathomError: The tolerance is not from 0 to less than 1, or ``near`` not more than 0 to 1.
    """

    buckets: tuple[int, ...] = BUCKETS
    tolerance: float = TOLERANCE
    near: float = NEAR
    state: DocumentState = "collected"
    domain: str = ""
    format: str = ""
    language: str = ""
    licence: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.tolerance < 1:
            raise FathomError(f"tolerance {self.tolerance:g}: expected a share of the length, from 0 to less than 1")
        if not 0 < self.near <= 1:
            raise FathomError(f"near {self.near:g}: expected a share of the text, more than 0 and at most 1")


def rules_of(intake: SetIntake, **more: Any) -> IntakeRules:
    """Rules with the buckets and limits of a studio.

    Args:
        intake: How the studio measures documents.
        more: Other fields.
    """
    return IntakeRules(intake.buckets, intake.tolerance, intake.near, **more)


@dataclass(frozen=True, slots=True)
class IntakeDocument:
    """A document with what is stored beside it."""

    document: StudioDocument
    text: str
    sketch: Sketch


@readable
@dataclass(frozen=True, slots=True)
class Intake:
    """Documents that were read, and what was not.

    Attributes:
        taken: New documents, in the order of their files.
        known: Id and source of each document that is in the studio already.
        problems: What could not be read, one line each; equal rows of one file are among them.
        unread: Files that are not read, one line for each reason.
    """

    taken: tuple[IntakeDocument, ...]
    known: tuple[tuple[str, str], ...]
    problems: tuple[str, ...]
    unread: tuple[str, ...]

    @property
    def no_bucket(self) -> int:
        """Documents whose length is in no bucket."""
        return sum(not taken.document.bucket for taken in self.taken)

    @property
    def nearly_equal(self) -> int:
        """Documents that are nearly equal to another."""
        return sum(bool(taken.document.duplicate_of) for taken in self.taken)


def read_documents(
    specs: Sequence[str],
    tokenizer: Tokenizer,
    *,
    rules: IntakeRules | None = None,
    earlier: Mapping[str, Sketch] | None = None,
    progress: Callable[[int, int], None] | None = None,
    reader: Callable[[str], Corpus] = read_corpus,
) -> Intake:
    """Read documents of folders and files in every format that corpora have.

    Args:
        specs: Folders or files, with names of fields as in ``fathom build --corpus``, or ``world``.
        tokenizer: Measures the texts.
        rules: How they are taken; None for the defaults.
        earlier: Sketches of the studio's documents by id.
        progress: Called with the numbers of documents measured and of all.

    Raises:
        FathomError: Nothing could be read.
    """
    rules, earlier = rules or IntakeRules(), earlier or {}
    documents: dict[str, Document] = {}
    problems: list[str] = []
    unread: list[str] = []
    for spec in specs:
        if is_world(spec):
            documents |= {document.id: document for document in world_documents(spec, tokenizer, rules.buckets)}
            continue
        corpus = reader(spec)
        for document in corpus.documents:
            documents.setdefault(document.id, document)
        problems += map(str, (*corpus.problems, *corpus.duplicates))
        unread += map(str, corpus.unread)
    fresh = [document for document in documents.values() if document.id not in earlier]
    with closing(CountCache(cache_folder() / "counts.sqlite")) as cache:
        taken = []
        for number, document in enumerate(fresh, start=1):
            taken.append(taken_of(document, TokenCounter(tokenizer, cache), rules))
            if progress:
                progress(number, len(fresh))
    return Intake(
        tuple(mark_near(taken, earlier, rules.near)),
        tuple((document.id, source_of(document, rules)) for document in documents.values() if document.id in earlier),
        tuple(problems),
        tuple(unread),
    )


def world_documents(spec: str, tokenizer: Tokenizer, buckets: Sequence[int] = BUCKETS) -> Iterator[Document]:
    """Documents of the generated corpus, to try the studio: some for each bucket up to 32k.

    Args:
        spec: ``world``, or with ``seed`` and ``language`` as in ``world?seed=3&language=zh``.
        buckets: Length buckets in tokens.

    Raises:
        FathomError: The specification has something else.
    """
    from fathom.world.corpus import generate

    _, query = parse_spec(spec)
    seed, language = query.pop("seed", "0"), query.pop("language", "en")
    if query or not seed.isdecimal() or language not in LANGUAGES.values():
        raise FathomError(f"{spec}: 'world' takes seed=NUMBER and language=en or zh")
    articles = generate(int(seed), language)
    for bucket in (bucket for bucket in buckets if bucket <= LONGEST_WORLD):
        for number in range(EACH_WORLD):
            pieces: list[str] = []
            tokens = 0
            while tokens < 0.9 * bucket:
                article = next(articles)
                pieces.append(f"{article.title}\n\n{article.text}")
                tokens += tokenizer.count(pieces[-1])
            text = normalise("\n\n".join(pieces))
            title = f"{format_length(bucket)} of a generated world, {number + 1}"
            yield Document(document_id(text), text, spec, language, title, "CC0-1.0")


def taken_of(document: Document, counter: TokenCounter, rules: IntakeRules | None = None) -> IntakeDocument:
    """A document of a corpus as one of the studio.

    Args:
        rules: How it is taken; None for the defaults.
    """
    rules = rules or IntakeRules()
    tokens = counter.size(document)
    return IntakeDocument(
        StudioDocument(
            id=document.id,
            title=document.title or _title(document),
            language=rules.language or document.language,
            source=source_of(document, rules),
            licence=document.licence or rules.licence,
            tokens=tokens,
            bucket=bucket_of(tokens, rules.buckets, rules.tolerance),
            state=rules.state,
            domain=rules.domain,
            format=rules.format,
        ),
        document.text,
        sketch_of(document.text),
    )


def source_of(document: Document, rules: IntakeRules) -> str:
    """Where a document is from."""
    return f"{rules.source}: {document.source}" if rules.source else document.source


def bucket_of(tokens: int, buckets: Sequence[int] = BUCKETS, tolerance: float = TOLERANCE) -> int:
    """The bucket nearest to a length (as a ratio), if the length is within its tolerance; else 0."""
    if tokens < 1 or not buckets:
        return 0
    nearest = min(buckets, key=lambda bucket: max(bucket, tokens) / min(bucket, tokens))
    return nearest if abs(tokens - nearest) <= tolerance * nearest else 0


def groups(
    documents: Sequence[StudioDocument], bucket: int, *, tolerance: float = TOLERANCE, seed: int = 0
) -> tuple[tuple[str, ...], ...]:
    """Groups of short documents that are as long as a bucket together, for samples over several documents.

    Documents of a group have the same language, and as far as they suffice, the same domain. Each document is used
    once; nearly equal ones are left out.

    Args:
        bucket: The bucket in tokens.
        tolerance: Share of the bucket by which a group may be shorter or longer.

    Returns:
        Ids of the documents of each group, two or more.
    """
    all_groups = []
    rng = Random(f"{seed}|{bucket}")
    for language in sorted({document.language for document in documents}):
        waiting = [
            document
            for document in sorted(documents, key=lambda document: document.id)
            if document.language == language
            and document.state == "available"
            and not document.duplicate_of
            and document.tokens < (1 - tolerance) * bucket
        ]
        rng.shuffle(waiting)
        waiting.sort(key=lambda document: document.domain)
        group: list[str] = []
        size = 0
        for document in waiting:
            if size + document.tokens > (1 + tolerance) * bucket:
                continue
            group, size = [*group, document.id], size + document.tokens
            if size >= (1 - tolerance) * bucket:
                all_groups.append(tuple(group))
                group, size = [], 0
    return tuple(all_groups)


def about(document: StudioDocument) -> str:
    """One line on a document, for a terminal."""
    bucket = format_length(document.bucket) if document.bucket else "no bucket"
    near = f", nearly equal to {document.duplicate_of}" if document.duplicate_of else ""
    return f"{document.title} ({document.language}, {document.tokens:,} tokens, {bucket}{near})"


# ------------------------------------------------------------------------------------------------------ near duplicates


def sketch_of(text: str) -> Sketch:
    """The sketch of a text: the smallest hashes of its runs of letters, whatever their case and what is between."""
    letters = _NO_LETTER.sub("", text.casefold())
    codes = np.frombuffer(letters.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
    if not len(codes):
        return b""
    runs = max(1, len(codes) - _RUN + 1)
    mixed = np.zeros(runs, dtype=np.uint64)
    for place in range(min(_RUN, len(codes))):
        mixed = mixed * np.uint64(0x100000001B3) + codes[place : place + runs]
    hashes = _scrambled(mixed)
    few = 4 * KEPT
    smallest = np.unique(np.partition(hashes, few)[:few]) if len(hashes) > few else np.unique(hashes)
    if len(smallest) < KEPT and len(hashes) > few:  # a text that repeats itself
        smallest = np.unique(hashes)
    return smallest[:KEPT].astype(_HASH).tobytes()


def _scrambled(numbers: Hashes) -> Hashes:
    """A hash of each number, in which every bit depends on every bit (splitmix64)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    scrambled: Hashes = numbers ^ (numbers >> np.uint64(31))
    return scrambled


def mark_near(
    taken: Sequence[IntakeDocument], earlier: Mapping[str, Sketch], near: float = NEAR
) -> list[IntakeDocument]:
    """New documents, each with the most similar earlier or preceding one if they are nearly equal.

    Args:
        earlier: Sketches of others by id.
        near: Share of the shorter text from which two texts are nearly equal.
    """
    ids = [*earlier, *(new.document.id for new in taken)]
    all_hashes = [_hashes(sketch) for sketch in (*earlier.values(), *(new.sketch for new in taken))]
    owners = np.repeat(np.arange(len(ids)), [len(hashes) for hashes in all_hashes])
    whole = np.concatenate([*all_hashes, np.zeros(0, np.uint64)])
    order = np.argsort(whole, kind="stable")
    whole, owners = whole[order], owners[order]
    marked = []
    for number, new in enumerate(taken, start=len(earlier)):
        mine = all_hashes[number]
        starts, ends = np.searchsorted(whole, mine, "left"), np.searchsorted(whole, mine, "right")
        holders = owners[_ranges(starts, ends)]
        counts = np.bincount(holders[holders < number], minlength=1)
        shares = {at: _share(mine, all_hashes[at], int(counts[at])) for at in np.flatnonzero(counts)}
        best = max(shares, key=lambda at: (shares[at], -at), default=None)
        similar = ids[best] if best is not None and shares[best] >= near else ""
        marked.append(replace(new, document=replace(new.document, duplicate_of=similar)))
    return marked


def _ranges(starts: NDArray[np.intp], ends: NDArray[np.intp]) -> NDArray[np.intp]:
    """All numbers from each start to before its end."""
    sizes = ends - starts
    offsets = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
    numbers: NDArray[np.intp] = np.arange(int(sizes.sum())) + offsets
    return numbers


def _share(hashes: Hashes, other: Hashes, shared: int) -> float:
    # Both sketches are complete up to the lower of their limits.
    limit = np.uint64(min(_limit(hashes), _limit(other)))
    fewer = min(np.searchsorted(hashes, limit, "right"), np.searchsorted(other, limit, "right"))
    return shared / int(fewer) if fewer else 0.0


def _limit(hashes: Hashes) -> int:
    return int(hashes[-1]) if len(hashes) == KEPT else _ALL


def _hashes(sketch: Sketch) -> Hashes:
    return np.frombuffer(sketch, dtype=_HASH).astype(np.uint64)


def _title(document: Document) -> str:
    """The heading of a text; the name of its file if its first line is a part of a sentence."""
    first, _, rest = document.text.strip().partition("\n")
    line = first.strip().lstrip("#").strip()
    alone = not rest.partition("\n")[0].strip() and len(line) <= LONGEST_TITLE
    if line and (first.startswith("#") or (alone and line[-1] not in _NO_TITLE_ENDS)):
        return line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1]}…"
    name = document.source.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return (name.removesuffix(".txt").removesuffix(".md") or line)[:LONGEST_TITLE]
