"""Embeddings of texts: by their characters, offline, or by a model (``fathom.models.embedding``); and as files.
MiniLongBench embeds every item's text with a model of 1,024 dimensions and keeps 10 principal components (section 3,
equation 1). The default here needs no model and no network.

A file of embeddings is an ``.npz`` archive with two arrays:
``items`` (names, shape (N,)) and ``embeddings`` (shape (N, F)).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from fathom.compress.arrays import open_arrays
from fathom.compress.matrix import Floats
from fathom.documents.records import TABLES, checked_records, format_of
from fathom.models.embedding import CHARACTERS, Endpoint, SentenceTransformer, check_texts, cut
from fathom.parallel.units import one_thread
from fathom.storage.atomic import whole_file
from fathom.suites.suitefile import is_suite, open_suite
from fathom.tokens.length import render
from fathom.types import FathomError, Sample

Embed: TypeAlias = Callable[[Sequence[str]], Floats]
SUFFIX = ".npz"
ITEMS, VECTORS = "items", "embeddings"


@dataclass(frozen=True)
class TfIdf:
    """Embeds texts by their character n-grams: TF-IDF, reduced to its leading singular directions.

    Characters work for English, code and Chinese, unlike words. The same texts give the same vectors.

    Attributes:
        dimensions: Maximum number of dimensions; at most the number of texts.
        characters: Characters of each text that are used, from its start and its end in equal parts.
        features: Maximum number of n-grams, the most frequent ones.
        seed: Seed of the decomposition.
    """

    dimensions: int = 100
    characters: int = 8_000
    features: int = 50_000
    seed: int = 0

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Vectors of the texts, shape (N, D)."""
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer

        check_texts(texts)
        shortened = [cut(text, self.characters) for text in texts]
        weigh = TfidfVectorizer(
            analyzer="char", ngram_range=(2, 3), max_features=self.features, sublinear_tf=True, dtype=np.float32
        )
        try:
            table = weigh.fit_transform(shortened)
        except ValueError as error:
            raise FathomError(f"texts cannot be embedded by their characters: {error}") from error
        kept = min(self.dimensions, min(table.shape) - 1)
        if kept < 1:
            return np.asarray(table.toarray(), dtype=np.float64)
        reduce = TruncatedSVD(n_components=kept, random_state=self.seed)
        return np.asarray(reduce.fit_transform(table), dtype=np.float64)


def embedder(name: str, *, base_url: str | None = None) -> Embed:
    """An embedding, by name.

    Args:
        name: ``tfidf``, ``sentence-transformers/MODEL`` (or ``st/MODEL``), or ``openai/MODEL`` for a server.

    Raises:
        FathomError: There is no such kind.
    """
    kind, _, model = name.partition("/")
    if name == "tfidf":
        return TfIdf()
    if kind in ("st", "sentence-transformers") and model:
        return SentenceTransformer(model)
    if kind == "openai" and model:
        return Endpoint(model, base_url=base_url)
    raise FathomError(f"unknown embedding {name!r}: choose tfidf, sentence-transformers/MODEL or openai/MODEL")


@one_thread("sklearn.decomposition")
def reduced(vectors: Floats, dimensions: int, seed: int = 0) -> Floats:
    """The leading principal components, not whitened.

    Args:
        vectors: Shape (N, F).
        dimensions: D; if there are fewer components, further columns are 0.
        seed: Seed of the solver, where there are many columns.

    Returns:
        Shape (N, D).

    Raises:
        FathomError: A value is not finite, or ``dimensions`` is below 1.
    """
    if vectors.ndim != 2 or not np.isfinite(vectors).all():
        raise FathomError(f"embeddings must be finite numbers, one row per item; got shape {vectors.shape}")
    if dimensions < 1:
        raise FathomError(f"{dimensions} dimensions: expected 1 or more")
    from sklearn.decomposition import PCA

    kept = min(dimensions, *vectors.shape)
    components = np.zeros((len(vectors), dimensions))
    components[:, :kept] = PCA(n_components=kept, random_state=seed).fit_transform(vectors)
    return components


@dataclass(frozen=True)
class ItemTexts:
    """Texts of items for embedding.

    Attributes:
        items: Names, as in score matrices.
        texts: One per item, each of at most ``CHARACTERS`` characters.
        shortened: How many were shortened, to their first and last half.
    """

    items: tuple[str, ...]
    texts: tuple[str, ...]
    shortened: int


@dataclass(frozen=True)
class ItemVectors:
    """Embeddings of items.

    Attributes:
        items: Names of the rows; None if the file has none, and rows are in the order of the items.
        vectors: Shape (N, F).
        source: Their source, for messages.
    """

    items: tuple[str, ...] | None
    vectors: Floats
    source: str

    def of(self, items: Sequence[str]) -> Floats:
        """The vectors of some items, in their order, shape (len(items), F).

        Raises:
            FathomError: An item has no vector, or the number of unnamed rows differs from that of the items.
        """
        if self.items is None:
            if len(self.vectors) != len(items):
                raise FathomError(
                    f"{self.source}: {len(self.vectors):,} embeddings without names for {len(items):,} items; expected "
                    f"one for each, or an array {ITEMS!r} with the names of the rows"
                )
            return self.vectors
        places = {name: place for place, name in enumerate(self.items)}
        if lacking := [name for name in items if name not in places]:
            raise FathomError(
                f"{self.source}: {len(lacking):,} of {len(items):,} items have no embedding, for example "
                f"{lacking[0]!r}; it has {len(self.items):,}, for example {self.items[0]!r}. Embed the suite of the "
                "scores with `fathom compress embed`"
            )
        return self.vectors[[places[name] for name in items]]


def item_texts(source: Path) -> ItemTexts:
    """The texts of items.

    Args:
        source: A built suite, whose texts are the rendered prompts; or a file of ``documents.records.TABLES``, also
            with ``.gz`` or ``.zst``, with fields ``item`` and ``text``. Items of a suite are named as in the matrix of
            a run of it (``tables.of_rows``): by their items if each has one sample, else by their samples. Closed-book
            questions and truncated prompts are left out.

    Raises:
        FathomError: The source is neither, has no text or duplicate names, or a row lacks a field.
    """
    pairs = list(_of_suite(source) if is_suite(source) else _of_lines(source))
    names = [name for name, _, _ in pairs]
    if not names:
        raise FathomError(f"{source}: no text to embed")
    if len(set(names)) < len(names):
        double = next(name for name in names if names.count(name) > 1)
        raise FathomError(f"{source}: item {double!r} occurs {names.count(double)} times; keep one of them")
    return ItemTexts(tuple(names), tuple(text for _, text, _ in pairs), sum(long for _, _, long in pairs))


def write_vectors(items: Sequence[str], vectors: Floats, path: Path) -> None:
    """Writes embeddings atomically.

    Args:
        vectors: Shape (N, F).
        path: An ``.npz`` file.

    Raises:
        FathomError: The suffix is wrong, or the file cannot be written.
    """
    check_suffix(path)
    with whole_file(path, "wb") as stream:
        np.savez_compressed(stream, items=np.array(items, dtype=np.str_), embeddings=vectors)


def check_suffix(path: Path) -> None:
    """Checks that a file is an ``.npz`` file.

    Raises:
        FathomError: Its suffix is wrong.
    """
    if path.suffix != SUFFIX:
        raise FathomError(f"{path}: a file of embeddings must end in {SUFFIX}")


def read_vectors(path: Path) -> ItemVectors:
    """Embeddings from a file that ``write_vectors`` wrote, or any file with an array ``embeddings``.

    Raises:
        FathomError: There is no such file or array, it contains Python objects, or the arrays do not match.
    """
    check_suffix(path)
    if not path.exists():
        raise FathomError(f"{path}: no such file; make one with `fathom compress embed`")
    with open_arrays(path) as arrays:
        stored = arrays.read(VECTORS)
        items = tuple(map(str, arrays.read(ITEMS).tolist())) if ITEMS in arrays.names else None
    try:
        vectors = stored.astype(np.float64)
    except ValueError as error:
        raise FathomError(f"{path}: the array {VECTORS!r} has what is no number: {error}") from error
    if vectors.ndim != 2 or not np.isfinite(vectors).all():
        raise FathomError(f"{path}: expected embeddings of finite numbers, one row per item; got {vectors.shape}")
    if items is not None and (len(items) != len(vectors) or len(set(items)) < len(items)):
        raise FathomError(f"{path}: {len(set(items)):,} different names of items for {len(vectors):,} embeddings")
    return ItemVectors(items, vectors, str(path))


def _of_suite(folder: Path) -> Iterator[tuple[str, str, bool]]:
    suite = open_suite(folder)
    known = [sample for sample in suite.samples(parts=False) if not _is_side(sample)]
    one_each = len({sample.item for sample in known}) == len(known)
    texts = suite.texts()
    for sample in suite.samples():
        if not _is_side(sample):
            text = render(sample, texts)
            yield (sample.item if one_each else sample.id), cut(text, CHARACTERS), len(text) > CHARACTERS


def _is_side(sample: Sample) -> bool:
    """Whether a sample is a control or has a truncated prompt."""
    return not sample.whole if sample.length else sample.facets.get("context") in ("none", "alone")


def _of_lines(path: Path) -> Iterator[tuple[str, str, bool]]:
    if path.is_dir() or format_of(path.name) not in TABLES:
        raise FathomError(
            f"{path}: neither a built suite (made with `fathom build`) nor a file with fields item and text "
            f"({', '.join(TABLES)}, each also with .gz or .zst)"
        )
    for place, fields in checked_records(path, frozenset({"item", "text"})):
        name, text = fields.get("item"), fields.get("text")
        if not isinstance(name, str) or not name or not isinstance(text, str):
            raise FathomError(f"{place}: expected texts item and text; its fields are {', '.join(fields)}")
        yield name, cut(text, CHARACTERS), len(text) > CHARACTERS
