"""Compare what extractors read from documents made with known texts: words, order of columns, tables, pages, time.

    python performance/extraction.py             # those that are installed
    pip install "markitdown[pdf,docx,pptx]" pdfplumber pypdf trafilatura python-docx    # the others

A second extractor reads the same files; texts are compared with the one that the files were made from.
"""

from __future__ import annotations

import argparse
import importlib
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from io import BytesIO
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fathom.documents.records.extracting import extract
from fathom.world.corpus import generate
from made_documents import docx_bytes, epub_bytes, html_text, interleaved_pdf, pdf_bytes, pptx_bytes

Text = tuple[str, list[str]]
"""A title and paragraphs."""


def fathom(data: bytes, suffix: str) -> str:
    return "\n\n".join(extract(data, suffix).pages)


def pdfplumber(data: bytes, suffix: str) -> str:
    with importlib.import_module("pdfplumber").open(BytesIO(data)) as pdf:
        return "\n".join(page.extract_text() or "" for page in pdf.pages)


def pypdf(data: bytes, suffix: str) -> str:
    return "\n".join(page.extract_text() for page in importlib.import_module("pypdf").PdfReader(BytesIO(data)).pages)


def pdfminer(data: bytes, suffix: str) -> str:
    return str(importlib.import_module("pdfminer.high_level").extract_text(BytesIO(data)))


def pypdfium2(data: bytes, suffix: str) -> str:
    pdf = importlib.import_module("pypdfium2").PdfDocument(data)
    return "\n".join(page.get_textpage().get_text_range() for page in pdf)


def pymupdf(data: bytes, suffix: str) -> str:
    return "\n".join(page.get_text() for page in importlib.import_module("pymupdf").open("pdf", data))


def markitdown(data: bytes, suffix: str) -> str:
    module = importlib.import_module("markitdown")
    return str(module.MarkItDown().convert_stream(BytesIO(data), file_extension=suffix).text_content)


def trafilatura(data: bytes, suffix: str) -> str:
    return importlib.import_module("trafilatura").extract(data.decode(), include_tables=True) or ""


def docx(data: bytes, suffix: str) -> str:
    lines = []
    for block in importlib.import_module("docx").Document(BytesIO(data)).iter_inner_content():
        rows = getattr(block, "rows", None)
        lines += [block.text] if rows is None else ["\t".join(cell.text for cell in row.cells) for row in rows]
    return "\n\n".join(lines)


EXTRACTORS: dict[str, list[Callable[[bytes, str], str]]] = {
    ".pdf": [fathom, pypdfium2, pypdf, pdfminer, pdfplumber, markitdown, pymupdf],
    ".docx": [fathom, docx, markitdown],
    ".pptx": [fathom, markitdown],
    ".html": [fathom, trafilatura, markitdown],
    ".epub": [fathom, markitdown],
}


def made(count: int) -> Iterator[tuple[Text, list[list[str]]]]:
    """Articles of the generated corpus, each with a table of numbers."""
    for number, document in zip(range(count), generate(11, "en"), strict=False):
        rng = Random(number)
        rows = [["Year", "Ships", "Owner"]]
        rows += [[str(1800 + row), f"{rng.randint(10, 99_999):,}", f"Owner {row} of {number}"] for row in range(9)]
        yield (document.title, [" ".join(part.split()) for part in document.text.split("\n\n")]), rows


def file_of(suffix: str, text: Text, rows: Sequence[Sequence[str]]) -> bytes:
    title, paragraphs = text
    if suffix == ".pdf":
        return pdf_bytes(title, paragraphs, rows)
    if suffix == ".docx":
        return docx_bytes([title, *paragraphs], rows)
    if suffix == ".pptx":
        return pptx_bytes([(title, paragraph) for paragraph in paragraphs], rows)
    if suffix == ".html":
        return html_text(title, paragraphs, rows).encode()
    return epub_bytes([(title, paragraphs)])


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def shares(text: Text, rows: Sequence[Sequence[str]], found: str) -> tuple[float, float, float, float]:
    """Words kept, words kept in their order, words that were not in the text, and rows of the table kept whole."""
    truth, read = words(" ".join(text[1])), words(found)
    known = {*words(text[0]), *truth, *(word for row in rows for cell in row for word in words(cell))}
    common = Counter(truth) & Counter(read)
    blocks = SequenceMatcher(None, truth, read, autojunk=False).get_matching_blocks()
    kept = [bool(re.search(r"[^\w\n]+".join(r"\W?".join(words(cell)) for cell in row), found)) for row in rows]
    return (
        common.total() / len(truth),
        sum(block.size for block in blocks) / len(truth),
        sum(word not in known for word in read) / len(truth),
        statistics.mean(kept),
    )


def interleaved_lines(extractor: Callable[[bytes, str], str]) -> str:
    """Whether the first column of a page, whose file alternates between two, is read before the second."""
    first = [f"line {number} of the first column of the page" for number in range(30)]
    second = [f"line {number} of the second column of the page" for number in range(30)]
    found = " ".join(extractor(interleaved_pdf("A heading", first, second), ".pdf").split())
    return "yes" if found.find(first[-1]) < found.find(second[0]) else "no"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--documents", type=int, default=20, help="documents of each format")
    given = parser.parse_args()
    texts = list(made(given.documents))
    print(
        "| format | extractor | words kept | in order | not in the text | table rows | interleaved columns | ms each |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for suffix, extractors in EXTRACTORS.items():
        files = [file_of(suffix, text, rows) for text, rows in texts]
        for extractor in extractors:
            try:
                extractor(files[0], suffix)
            except ImportError:
                print(f"| {suffix} | {extractor.__name__} | not installed |")
                continue
            begun = time.perf_counter()
            found = [extractor(data, suffix) for data in files]
            each = (time.perf_counter() - begun) / len(files)
            figures = [shares(text, rows, read) for (text, rows), read in zip(texts, found, strict=True)]
            kept, order, extra, tables = (statistics.mean(column) for column in zip(*figures, strict=True))
            columns = interleaved_lines(extractor) if suffix == ".pdf" else ""
            table = f"{tables:.2f}" if suffix != ".epub" else ""
            line = f"| {suffix} | {extractor.__name__} | {kept:.3f} | {order:.3f} | {extra:.3f} | {table} | {columns} |"
            print(f"{line} {1000 * each:.1f} |", flush=True)


if __name__ == "__main__":
    main()
