"""Embed the texts of items, for the studies of MiniLongBench's method."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from pathlib import Path
from typing import Annotated

from fathom.models.settings import BaseUrl
from fathom.options.declare import Options, arg, command, hidden, opt
from fathom.printing import several


class EmbedOptions(Options):
    source: Annotated[Path | str, arg("A built suite, or a table with fields item and text.")]
    out: Annotated[Path | str, opt("The .npz file, with arrays items and embeddings.", "-o", metavar="FILE")]
    _: KW_ONLY
    model: Annotated[
        str, opt("tfidf, sentence-transformers/NAME, or openai/NAME for a server.", "-m", metavar="NAME")
    ] = "tfidf"
    base_url: Annotated[BaseUrl, opt(flag="--model-base-url")] = None
    tell: Annotated[Callable[[str], None] | None, hidden("Called with the number of truncated texts.")] = None


@command(EmbedOptions)
def compress_embed(options: EmbedOptions) -> tuple[int, int]:
    """Embed the texts of items, for the studies of MiniLongBench's method.

    In Python it returns how many items there are, and of how many dimensions their embeddings are.
    """
    from fathom.compress.embedding import check_suffix, embedder, item_texts, write_vectors
    from fathom.models.embedding import CHARACTERS

    out = Path(options.out)
    check_suffix(out)
    embedding = embedder(options.model, base_url=options.base_url)
    source_texts = item_texts(Path(options.source))
    if source_texts.shortened and options.tell is not None:
        cut, texts = f"{source_texts.shortened:,}", f"{len(source_texts.items):,}"
        options.tell(f"{cut} of {texts} texts are longer than {CHARACTERS:,} characters and were truncated")
    vectors = embedding(source_texts.texts)
    write_vectors(source_texts.items, vectors, out)
    return vectors.shape[0], vectors.shape[1]


def main(options: EmbedOptions) -> None:
    """Print how many items were embedded."""
    from fathom.options.terminal import tell

    items, dimensions = compress_embed.body(options.but(tell=tell))
    tell(f"{options.out}: {several(items, 'item')}, {several(dimensions, 'dimension')}")
