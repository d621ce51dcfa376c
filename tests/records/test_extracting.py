from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import pytest

from fathom.documents.corpus import Corpus, read_corpus
from fathom.documents.records import Fault, read_records
from fathom.documents.records.extracting import Extracted, NoTextError, extract
from fathom.documents.records.extractor import Extractor
from fathom.types import FathomError
from made_documents import (
    docx_bytes,
    epub_bytes,
    html_text,
    interleaved_pdf,
    need_libraries,
    pdf_bytes,
    pptx_bytes,
    scanned_pdf,
    zipped,
)

ROWS = [["Year", "Ships", "Owner of most"], ["1788", "12", "Anna & Sons"], ["1799", "1,207", "Otto <Ltd>"]]
PARAGRAPHS = [
    f"Paragraph {number} tells what happened in the harbour of Kessmoor during winter {1780 + number}, when ice kept "
    f"{number + 3} ships from leaving, and the keeper of the lighthouse wrote letters to his sister every evening."
    for number in range(30)
]


@pytest.fixture(autouse=True)
def _libraries() -> None:
    need_libraries()


def words(text: str) -> str:
    return " ".join(text.split())


def whole(found: Extracted) -> str:
    return words("\n".join(found.pages))


def read(path: Path) -> Corpus:
    return read_corpus(str(path))


# -------------------------------------------------------------------------------------------------- reading


def test_two_columns_are_read_one_after_the_other_with_paragraphs_and_tables() -> None:
    found = extract(pdf_bytes("Winters", PARAGRAPHS, ROWS), ".pdf")
    assert len(found.pages) == 2
    text = "\n\n".join(found.pages)
    places = [words(text).find(words(paragraph)) for paragraph in PARAGRAPHS]
    assert places == sorted(places)
    assert places[0] > 0
    assert sum(words(paragraph) in map(words, text.split("\n\n")) for paragraph in PARAGRAPHS) >= 26
    assert all("\t".join(row) in text for row in ROWS)


def test_columns_that_the_file_interleaves_are_read_one_after_the_other() -> None:
    first = [f"line {number} of the first column of the page" for number in range(30)]
    second = [f"line {number} of the second column of the page" for number in range(30)]
    heading = "A heading that runs across both columns of this page, from left to right, without a gap"
    found = extract(interleaved_pdf(heading, first, second), ".pdf")
    assert found.pages[0].split("\n") == [heading, *first, *second]


def test_a_table_of_two_columns_is_read_by_rows() -> None:
    left, right = [f"Item {number}" for number in range(30)], [f"{number}.50" for number in range(30)]
    found = extract(interleaved_pdf("Prices", left, right), ".pdf")
    assert [line for line in found.pages[0].split("\n") if line] == [
        "Prices",
        *(f"{one}\t{other}" for one, other in zip(left, right, strict=True)),
    ]


def test_a_word_file_with_a_table_and_a_content_control() -> None:
    found = extract(docx_bytes(PARAGRAPHS[:3], ROWS), ".docx")
    assert not found.paged
    assert found.pages[0].split("\n\n")[:3] == PARAGRAPHS[:3]
    assert found.pages[0].endswith("\n".join("\t".join(row) for row in ROWS))


def test_slides_with_a_table_and_notes() -> None:
    found = extract(pptx_bytes([("One", "First text"), ("Two", "Second text")], ROWS, "Say it slowly."), ".pptx")
    assert words(found.pages[0]) == "One First text"
    assert found.pages[1].startswith("Two\n\nSecond text\n")
    assert all("\t".join(row) in found.pages[1] for row in ROWS)
    assert found.pages[1].endswith("Say it slowly.")


def test_a_web_page_without_navigation_scripts_and_hidden_parts() -> None:
    found = extract(html_text("Winters", PARAGRAPHS[:2], ROWS).encode(), ".html")
    rows = "\n".join("\t".join(row) for row in ROWS)
    assert found.pages[0].strip() == "\n\n".join(["Winters", *PARAGRAPHS[:2], rows]).strip()


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>one<br>two <b>bold</b>, <i>three</i></p>", "one\ntwo bold, three"),
        ("x<ul><li>a<li>b <ul><li>c</ul></ul>d", "x\na\nb\nc\nd"),
        ("<pre>a\n  b\n</pre>c", "a\n  b\n\n\nc"),
        ("<nav>menu</nav><main><header><h1>T</h1></header><p>x</p></main><p>outside</p>", "T\n\nx"),
        ("<article><header>T</header><p>x</p><aside>note</aside></article>", "T\n\nx\n\nnote"),
        ("<p>1 &lt; 2 &amp; caf&eacute;&nbsp;au lait &#8212; 中文</p>", "1 < 2 & café\xa0au lait — 中文"),
        ("<table><tr><td>a<table><tr><td>b<td>c</table><td>d</table>", "a\n\nb\tc\n\nd"),
        ("<p>a<!-- comment --><?pi x?>b</p><script>1 < 2</script><p>c", "ab\n\nc"),
        ("plain words", "plain words"),
    ],
)
def test_white_space_of_web_pages(page: str, text: str) -> None:
    assert extract(page.encode(), ".htm").pages == (text,)


def test_a_web_page_without_head_and_body() -> None:
    page = "<!doctype html><meta charset=utf-8><title>Ports</title><nav>Home</nav><article><p>Porto</p></article>"
    assert extract(page.encode(), ".html").pages == ("Porto",)


def test_a_web_page_in_another_encoding() -> None:
    page = '<html><head><meta charset="windows-1252"></head><body>café – “oui”</body></html>'
    assert extract(page.encode("cp1252"), ".html").pages == ("café – “oui”",)


def test_deeply_nested_web_pages_are_read_to_the_end() -> None:
    page = "<div>" * 1500 + "<p>deep</p>" + "</div>" * 1500 + "<p>end</p>"
    assert extract(page.encode(), ".html").pages[0].split() == ["deep", "end"]


@pytest.mark.slow
def test_a_long_text_of_a_web_page_is_read_to_the_end() -> None:
    page = f"<p>{'word ' * 2_500_000}</p><p>end</p>"
    assert extract(page.encode(), ".html").pages[0].split().count("word") == 2_500_000


def test_a_book_in_chapters() -> None:
    found = extract(epub_bytes([("One", PARAGRAPHS[:2]), ("Two", PARAGRAPHS[2:4])]), ".epub")
    assert [page.strip() for page in found.pages] == [
        "\n\n".join(["One", *PARAGRAPHS[:2]]),
        "\n\n".join(["Two", *PARAGRAPHS[2:4]]),
    ]


def test_pages_are_positions_in_the_document(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf_bytes("Winters", PARAGRAPHS))
    (tmp_path / "b.epub").write_bytes(epub_bytes([("One", ["x"]), ("", []), ("Two", ["y"]), ("", [])]))
    (tmp_path / "c.docx").write_bytes(docx_bytes(["Only text"]))
    report, book, plain = read(tmp_path).documents
    assert len(report.pages) == 2
    assert report.page_of(report.text.find("Paragraph 3 ")) == 1
    assert report.page_of(len(report.text) - 1) == 2
    assert [report.text[at - 2 : at] for at in report.pages[1:]] == ["\n\n"]
    assert book.text == "One\n\nx\n\nTwo\n\ny"
    assert [book.page_of(book.text.find(letter)) for letter in "xy"] == [1, 3]
    assert (plain.pages, plain.page_of(0)) == ((), None)


def test_files_in_archives_and_compressed(tmp_path: Path) -> None:
    (tmp_path / "all.zip").write_bytes(zipped({"a/one.pdf": pdf_bytes("One", PARAGRAPHS[:1]), "two.html": "<p>two"}))
    corpus = read(tmp_path)
    assert [document.source for document in corpus.documents] == ["all/a/one.pdf", "all/two.html"]
    assert corpus.documents[0].pages == (0,)


# ------------------------------------------------------------------------------------- what cannot be read


@pytest.mark.parametrize(
    ("suffix", "data", "says"),
    [
        (".pdf", lambda: scanned_pdf(2), "scanned: no text; run OCR first"),
        (".pdf", lambda: pdf_bytes("T", ["x"], lock="secret"), "encrypted: save a copy without a password"),
        (".pdf", lambda: b"%PDF-1.7 nothing else", "damaged: not a readable PDF"),
        (".pdf", lambda: b"", "the file is empty"),
        (".pdf", lambda: interleaved_pdf("", [], []), "it has no text"),
        (".docx", lambda: b"\xd0\xcf\x11\xe0" + bytes(5000), "encrypted, or of an old format"),
        (".docx", lambda: docx_bytes(PARAGRAPHS)[:-200], "damaged: not a readable Word file"),
        (".docx", lambda: zipped({"a": "b"}), "damaged"),
        (".docx", lambda: docx_bytes([""]), "it has no text"),
        (".pptx", lambda: b"PK", "damaged: not a readable PowerPoint file"),
        (".epub", lambda: zipped({"a": "b"}), "damaged: it has no part 'META-INF/container.xml'"),
        (".epub", lambda: epub_bytes([("One", ["x"])], locked=True), "protected against copying"),
        (".html", lambda: b"", "the file is empty"),
        (".html", lambda: b"<script>only()</script>", "it has no text"),
    ],
)
def test_files_without_usable_text_say_why(tmp_path: Path, suffix: str, data: object, says: str) -> None:
    path = tmp_path / f"bad{suffix}"
    path.write_bytes(data())  # type: ignore[operator]
    (fault,) = read_records(path)
    assert isinstance(fault, Fault)
    assert says in fault.reason


def test_unusable_files_are_named_as_unread_and_count(tmp_path: Path) -> None:
    for number in range(2):
        (tmp_path / f"scan{number}.pdf").write_bytes(scanned_pdf())
    (tmp_path / "one.txt").write_text("text")
    corpus = read(tmp_path)
    assert corpus.problems == ()
    assert [one.reason for one in corpus.unread] == [
        "not read (scanned: no text; run OCR first, for instance with ocrmypdf): scan0.pdf, scan1.pdf"
    ]
    assert (corpus.read, corpus.missed) == (1, 2)


def test_scanned_pages_among_others_are_a_problem(tmp_path: Path) -> None:
    (tmp_path / "partly.pdf").write_bytes(scanned_pdf(2, "The only page with text."))
    corpus = read(tmp_path)
    assert corpus.documents[0].text == "The only page with text."
    assert [problem.reason for problem in corpus.problems] == [
        "pages 1, 2 without text, perhaps scanned: run OCR first"
    ]


# ------------------------------------------------------------------------------------------- hostile files


@pytest.mark.slow
def test_a_zip_bomb_is_not_unpacked() -> None:
    with pytest.raises(NoTextError, match="would unpack to"):
        extract(zipped({"word/document.xml": bytes(80 << 20)}), ".docx")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".docx", ".epub", ".pptx"])
def test_external_entities_and_billions_of_laughs_are_not_expanded(tmp_path: Path, suffix: str) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret words")
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    head = f'<!DOCTYPE x [<!ENTITY l0 "ha">{laughs}<!ENTITY file SYSTEM "{secret.as_uri()}">]>'
    whole = {
        ".docx": docx_bytes(["x", "ENTITY"], head=head),
        ".pptx": pptx_bytes([("T", "ENTITY")]),
        ".epub": epub_bytes([("T", ["ENTITY"])]),
    }[suffix]
    for entity in ("&file;", "&l11;"):
        with zipfile.ZipFile(tmp_path / "in.zip", "w") as made, zipfile.ZipFile(_file(tmp_path, whole)) as source:
            for name in source.namelist():
                content = source.read(name)
                if b"ENTITY" in content and not name.endswith("document.xml"):
                    start = content.find(b"?>") + 2 if content.startswith(b"<?xml") else 0
                    content = content[:start] + head.encode() + content[start:]
                made.writestr(name, re.sub(rb"(?<!<!)ENTITY", entity.encode(), content))
        path = (tmp_path / "in.zip").rename(tmp_path / f"hostile{suffix}")
        extractor = Extractor(seconds=30)
        try:
            text = "".join(extractor.extract(path, suffix).pages)
        except NoTextError:
            text = ""
        finally:
            extractor.close()
        assert "secret words" not in text
        assert "hahaha" not in text


def _file(folder: Path, data: bytes) -> Path:
    path = folder / "made"
    path.write_bytes(data)
    return path


@pytest.mark.slow
def test_a_file_that_takes_too_long_is_named_and_the_next_one_is_read(tmp_path: Path) -> None:
    slow = tmp_path / "slow.html"
    slow.write_text("<p>" + "word <b>x</b> " * 400_000)
    quick = tmp_path / "quick.html"
    quick.write_text("<p>quick")
    extractor = Extractor(seconds=30)
    try:
        assert extractor.extract(quick, ".html").pages == ("quick",)
        extractor._seconds = 0.01
        with pytest.raises(NoTextError, match=r"takes more than 0.01 seconds; convert it"):
            extractor.extract(slow, ".html")
        extractor._seconds = 30
        assert extractor.extract(quick, ".html").pages == ("quick",)
    finally:
        extractor.close()


@pytest.mark.slow
def test_a_file_that_needs_too_much_memory_is_named_and_the_next_one_is_read(tmp_path: Path) -> None:
    large = tmp_path / "large.html"
    large.write_text("<p>text" * 4_000_000)
    quick = tmp_path / "quick.html"
    quick.write_text("<p>quick")
    extractor = Extractor(memory=256 << 20)
    try:
        with pytest.raises(NoTextError, match=r"memory|crash|damaged"):
            extractor.extract(large, ".html")
        assert extractor.extract(quick, ".html").pages == ("quick",)
    finally:
        extractor.close()


def test_what_a_library_prints_is_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "a\nb.html"
    path.write_text("<p>text")
    assert [record.fields for record in read_records(path)] == [{"text": "text"}]  # type: ignore[union-attr]


def test_a_corpus_of_one_file_without_text_says_why(tmp_path: Path) -> None:
    (tmp_path / "scan.pdf").write_bytes(scanned_pdf())
    with pytest.raises(FathomError, match=r"no document could be read\.\n.*scanned: no text; run OCR first"):
        read(tmp_path / "scan.pdf")


_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def _run(text: str, properties: str = "") -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>"


def test_hidden_text_of_word_files_is_left_out() -> None:
    seen = _run("Seen") + _run(" gone", "<w:vanish/>") + _run(" kept", "<w:vanish w:val='0'/>")
    styled = _run("gone by style", "<w:rStyle w:val='Child'/>")
    paragraph = f"<w:pPr><w:pStyle w:val='Hidden'/></w:pPr>{_run('gone')}" + _run("back", "<w:vanish w:val='false'/>")
    row = f"<w:tr><w:trPr><w:hidden/></w:trPr><w:tc><w:p>{_run('gone row')}</w:p></w:tc></w:tr>"
    body = f"<w:p>{seen}</w:p><w:p>{styled}</w:p><w:p>{paragraph}</w:p><w:tbl>{row}</w:tbl>"
    styles = (
        '<w:style w:type="character" w:styleId="Hidden"><w:rPr><w:vanish/></w:rPr></w:style>'
        '<w:style w:type="character" w:styleId="Child"><w:basedOn w:val="Hidden"/></w:style>'
    )
    with zipfile.ZipFile(io.BytesIO(docx_bytes(["x"]))) as archive:
        parts: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    parts["word/document.xml"] = f"<w:document {_W}><w:body>{body}</w:body></w:document>"
    parts["word/styles.xml"] = f"<w:styles {_W}>{styles}</w:styles>"
    assert words(whole(extract(zipped(parts), ".docx"))) == "Seen kept back"


def test_hidden_slides_and_parts_of_pages_are_left_out() -> None:
    slides = pptx_bytes([("One", "First"), ("Two", "Second"), ("Three", "Third")])
    with zipfile.ZipFile(io.BytesIO(slides)) as archive:
        parts: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    name = "ppt/slides/slide2.xml"
    parts[name] = str(parts[name], "utf-8").replace("<p:sld ", '<p:sld show="0" ', 1)  # type: ignore[arg-type]
    assert [bool(page) for page in extract(zipped(parts), ".pptx").pages] == [True, False, True]
    page = (
        b"<p>Seen</p><p style='color: red; display:none'>gone</p><p style='Visibility : Hidden'>gone</p>"
        b"<p style='display: none-such; display:block'>kept</p>"
    )
    assert whole(extract(page, ".html")).split() == ["Seen", "kept"]
