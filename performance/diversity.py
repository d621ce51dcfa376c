"""How varied texts are: the generated corpus beside documents of your own.

python performance/diversity.py [SPEC ...] [--module fathom.world.corpus] [--tokens 20000] [--seeds 0 1 2]

Measured are the generated corpus, the papers that fill contexts of the suite ``world``, and each SPEC.
A SPEC is a corpus specification, such as ``novels/`` or ``news.jsonl.zst?text=context``. Of each language of it, and of
each seed of the generated corpus, the first tokens (words and numbers; in Chinese characters and numbers) are measured:
the share of 5-grams that came before, the size after lzma as a share of the size before, the share of different tokens,
and numbers per 1,000 tokens. ``--module`` names another module with ``article(seed, language, index)``;
``--containing`` leaves out documents of the SPECs without a word, to take one kind of several.
"""

import argparse
import lzma
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import count

from fathom.documents.corpus import read_corpus
from fathom.world.annals.family import ANNALS
from fathom.world.types import Dials, Language

TOKEN = re.compile(r"[A-Za-z’']+|\d[\d,]*|[\u4e00-\u9fff]")
GRAM = 5
SKIPPED = 5000
"""Characters at the start of a document that is longer than ten times as many: licences, tables of contents."""


def figures(texts: Iterable[str], tokens: int) -> tuple[int, float, float, float, float]:
    """Tokens, repeated 5-grams, ratio of compression, different tokens, numbers per 1,000."""
    parts: list[str] = []
    words: list[str] = []
    for text in texts:
        found = list(TOKEN.finditer(text))[: tokens - len(words)]
        words += [match[0].lower() for match in found]
        parts.append(text[: found[-1].end()] if found else "")
        if len(words) >= tokens:
            break
    grams = list(zip(*(words[start:] for start in range(GRAM)), strict=False))
    repeated = len(grams) - len(set(grams))
    raw = "\n\n".join(parts).encode()
    numbers = sum(word[0].isdigit() for word in words)
    return (
        len(words),
        repeated / max(1, len(grams)),
        len(lzma.compress(raw)) / len(raw),
        len(set(words)) / len(words),
        1000 * numbers / len(words),
    )


def generated(module: str, seed: int, language: str) -> Iterator[str]:
    """The texts of articles without end."""
    article = import_module(module).article
    return (article(seed, language, index).text for index in count())


def papers(seed: int, language: Language) -> Iterator[str]:
    """The texts of papers that fill contexts of the suite ``world``."""
    facts = ANNALS.facts("T3.2", seed, 0, Dials())
    return (passage.text for passage in ANNALS.siblings(facts, language))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("specs", nargs="*")
    parser.add_argument("--module", default="fathom.world.corpus")
    parser.add_argument("--tokens", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--containing", default="")
    chosen = parser.parse_args()
    sources = [
        (f"{chosen.module} {language}, seed {seed}", generated(chosen.module, seed, language))
        for language in ("en", "zh")
        for seed in chosen.seeds
    ]
    sources += [("papers of the suite world, en", papers(0, "en")), ("papers of the suite world, zh", papers(0, "zh"))]
    for spec in chosen.specs:
        texts: dict[str, list[str]] = {}
        for document in read_corpus(spec).documents:
            if chosen.containing not in document.text:
                continue
            skipped = SKIPPED if len(document.text) > 10 * SKIPPED else 0
            texts.setdefault(document.language, []).append(document.text[skipped:])
        name = spec.rstrip("/").rpartition("/")[2]
        sources += [(f"{name} {language}", iter(known)) for language, known in sorted(texts.items())]
    print(f"{'':44}{'tokens':>8}{'repeated':>10}{'lzma':>8}{'different':>11}{'numbers':>9}")
    for name, documents in sources:
        size, repeated, ratio, different, numbers = figures(documents, chosen.tokens)
        print(f"{name:44}{size:8,}{repeated:10.3f}{ratio:8.3f}{different:11.3f}{numbers:9.1f}", flush=True)


if __name__ == "__main__":
    main()
