"""Everything that reads or divides a document takes time in proportion to its length, whatever it consists of."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from fathom.benchmarks.ada import tsort
from fathom.benchmarks.hundred.sources import with_line_ends, without_noise
from fathom.documents.corpus import books, locating, text
from fathom.documents.corpus.stackexchange.markup import post_text
from fathom.documents.records import read_records
from fathom.documents.records.cells import CellError, as_listed
from fathom.documents.records.extracting import NoTextError, extract
from fathom.documents.records.streams import parts_of
from fathom.printing import folded, printable
from fathom.safety.secrets import hide_in_command, hide_in_text, redact
from fathom.storage.toml import parse_toml
from fathom.studio.compliance import findings
from fathom.studio.intake import sketch_of
from fathom.suites.tasks import evidence, related, support
from fathom.tokens.counts import TokenCounter, cut_points
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import Document, FathomError, Question
from linear_time import assert_linear, seconds

PIECES = (" ", "?", "…」", "a, ", "[* ", "CHAPTER I ")
MORE_PIECES = (
    *("1", "a", "A. ", "\n", " \n", "\t", "'", '"', "(", "[", "{", "<", "<p ", "&", "*", "-", "_", ".", "。", "”"),
    *("\\", "[1] ", "a@", "['", "{'a': ", "a\u0301", "e.g. ", "key=", "http://", "\n\n- ", "``` ", "footnote: "),
    *("a.", "\x02", "第一"),
)
COUNTER = TokenCounter(get_tokenizer("words"))
SUFFIXES = (".txt", ".jsonl", ".json", ".csv", ".tsv")


def _document(content: str) -> Document:
    return Document(id="d", text=content, language="en", source="a")


READERS: dict[str, Callable[[str], object]] = {
    "normalise": text.normalise,
    "detect_language": text.detect_language,
    "read_book en": lambda given: books.read_book(given, "en"),
    "read_book zh": lambda given: books.read_book(given, "zh"),
    "without_notes": lambda given: books.without_notes(given, (0, len(given))),
    "story_of": lambda given: tsort.story_of(_document(given), books.read_book(given, "en"), COUNTER),
    "find_quotation": lambda given: locating.find_quotation(given, f"{given[:200]} b"),
    "post_text": post_text,
    "as_listed": as_listed,
    "as_listed [": lambda given: as_listed(f"[{given}"),
    "as_listed ['": lambda given: as_listed(f"['{given}"),
    "parts_of": lambda given: list(parts_of([given])),
    "cut_points": cut_points,
    "sentences_of": lambda given: evidence.sentences_of(_document(given)),
    "best_places": lambda given: evidence.best_places(_document(given), Question("What is a b c?", ("a b",))),
    "related": lambda given: related.related([_document(given), _document(f"{given}b")]),
    "support": lambda given: support.support("a b c", given, given),
    "with_line_ends": with_line_ends,
    "without_noise": without_noise,
    "findings": findings,
    "sketch_of": sketch_of,
    "redact": redact,
    "hide_in_text": hide_in_text,
    "hide_in_command": hide_in_command,
    "printable": printable,
    "folded": lambda given: folded(given, 80),
    "html": lambda given: extract(f"<p>a{given}b</p>".encode(), ".html"),
    "html pre": lambda given: extract(f"<pre>a{given}b</pre>".encode(), ".html"),
    "toml": lambda given: parse_toml(given, "a"),
    "toml text": lambda given: parse_toml(f'a = "{given}', "a"),
    "toml list": lambda given: parse_toml(f"a = [{given}", "a"),
}


def _quietly(read: Callable[[str], object], given: str) -> None:
    with suppress(FathomError, CellError, NoTextError):
        read(given)


@pytest.mark.parametrize(
    "piece", [*PIECES, *(pytest.param(piece, marks=[pytest.mark.slow, pytest.mark.long]) for piece in MORE_PIECES)]
)
def test_every_reader_and_segmenter_takes_linear_time(piece: str, tmp_path: Path) -> None:
    def records(suffix: str, given: str) -> None:
        path = tmp_path / f"a{suffix}"
        path.write_text(json.dumps({"text": given}) if suffix == ".json" else f"text,a\n{given}", "utf-8")
        list(read_records(path))

    readers = READERS | {suffix: partial(records, suffix) for suffix in SUFFIXES}
    for name, read in readers.items():
        assert_linear(name, partial(seconds, partial(_quietly, read)), piece, "x")
