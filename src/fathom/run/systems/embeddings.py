"""Ranks passages by the cosine of their vectors with the question's, by an embedding model."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING

from fathom.plugins.extras import install
from fathom.safety.address import check_address
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.models.embedding import Floats

WORDS = "bm25"
SERVED, LOCAL = "embed/", "embed-local/"
KEPT = 256 * 1024 * 1024
"""Bytes of vectors that are kept; of more, those used longest ago are embedded again when they are needed."""


class Embeddings:
    """The relevance of texts to a question: the cosine of their vectors.

    Vectors are kept while the run goes on, so that passages that several questions share are embedded once.

    Args:
        name: The model as users name it, for messages.
        embed: Vectors of texts, shape (N, D), and how many tokens were read; None if unknown.
        kept: Bytes of vectors that are kept at most.
        alone: Whether the model takes one call at a time, as a local one does.
    """

    def __init__(
        self,
        name: str,
        embed: "Callable[[Sequence[str]], tuple[Floats, int | None]]",
        kept: int = KEPT,
        *,
        alone: bool = False,
    ) -> None:
        self._name, self._embed, self._kept = name, embed, kept
        self._vectors: OrderedDict[bytes, bytes] = OrderedDict()
        self._bytes = self._texts = 0
        self._tokens: int | None = 0
        self._lock = Lock()
        self._turn = Lock() if alone else None

    def __call__(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """The cosine of each text with the question; 0 for a vector without direction, and without a word.

        Servers refuse empty texts, which are not sent.

        Raises:
            FathomError: The model cannot be asked, or vectors differ in their dimension.
        """
        import numpy as np

        places = [place for place, text in enumerate(texts) if text.strip()]
        if not question.strip() or not places:
            return [0.0] * len(texts)
        vectors = self._vectors_of([question, *(texts[place] for place in places)])
        if len({vector.shape for vector in vectors}) > 1:
            raise FathomError(f"{self._name} returned vectors of different dimensions")
        table = np.stack(vectors).astype(np.float64)
        lengths = np.linalg.norm(table, axis=1)
        units = table / np.where(lengths > 0, lengths, 1.0)[:, None]
        scores = dict(zip(places, units[1:] @ units[0], strict=True))
        return [float(scores.get(place, 0.0)) for place in range(len(texts))]

    @property
    def hint(self) -> str:
        """How much was embedded, which is no part of a run's tokens and cost; "" for nothing."""
        if not self._texts:
            return ""
        read = "" if not self._tokens else f" of {self._tokens:,} tokens"
        return f"{self._name} embedded {self._texts:,} texts{read}, which the run's tokens and cost do not include"

    def _vectors_of(self, texts: Sequence[str]) -> "list[Floats]":
        import numpy as np

        # A lone surrogate can be neither sent nor tokenized.
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        keys = [sha256(text.encode()).digest() for text in clean]
        with self._lock:
            known = {key: self._vectors[key] for key in keys if key in self._vectors}
            for key in known:
                self._vectors.move_to_end(key)
        missing = {key: text for key, text in zip(keys, clean, strict=True) if key not in known}
        if missing:
            vectors, read = self._asked(list(missing.values()))
            new = {key: vector.astype(np.float32).tobytes() for key, vector in zip(missing, vectors, strict=True)}
            known |= new
            self._keep(new, read)
        return [np.frombuffer(known[key], dtype=np.float32) for key in keys]

    def _asked(self, texts: list[str]) -> "tuple[Floats, int | None]":
        if self._turn is None:
            return self._embed(texts)
        with self._turn:
            return self._embed(texts)

    def _keep(self, new: dict[bytes, bytes], read: int | None) -> None:
        with self._lock:
            self._texts += len(new)
            self._tokens = None if read is None or self._tokens is None else self._tokens + read
            for key, vector in new.items():
                self._bytes += len(vector) - len(self._vectors.pop(key, b""))
                self._vectors[key] = vector
            while self._bytes > self._kept and self._vectors:
                self._bytes -= len(self._vectors.popitem(last=False)[1])


def by_embeddings(by: str, base_url: str | None = None) -> Embeddings | None:
    """Ranks by an embedding model; None for ``bm25``, which needs none. Nothing is sent or loaded.

    Args:
        by: ``bm25``, ``embed/NAME`` for a model on a server with OpenAI's interface, or ``embed-local/NAME`` for one
            of sentence-transformers.
        base_url: Address of the server; None for OpenAI's.

    Raises:
        FathomError: It is none of these, or its library or key is missing; or an address is given where no server is
            asked.
    """
    served, local = by.removeprefix(SERVED), by.removeprefix(LOCAL)
    if base_url is not None and served == by:
        raise FathomError("`embedding_base_url`: only `system` retrieval?by=embed/NAME asks a server of embeddings")
    if base_url is not None:
        check_address(base_url, "embedding_base_url")
    if by == WORDS:
        return None
    if not served or not local or (served == by and local == by):
        raise FathomError(f"retrieval: by={by}: expected bm25, embed/NAME (a server) or embed-local/NAME")
    if served != by:
        from fathom.models.embedding import Endpoint

        endpoint = Endpoint(served, base_url)
        endpoint.key()
        return Embeddings(by, endpoint.counted)
    return _local(by, local)


def _local(by: str, name: str) -> Embeddings:
    from importlib.util import find_spec

    from fathom.models.embedding import SentenceTransformer

    if find_spec("sentence_transformers") is None:
        raise FathomError(f"retrieval by {by} needs sentence-transformers: {install('embed')}")
    model = SentenceTransformer(name)
    return Embeddings(by, lambda texts: (model(texts), None), alone=True)
