"""Documents in the formats that people have: PDF, DOCX, PPTX, HTML and EPUB, with tables and two columns."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest

LIBRARIES = ("pypdfium2", "mammoth", "pptx", "lxml", "reportlab")


def need_libraries() -> None:
    """Skip a test whose libraries are missing."""
    for name in LIBRARIES:
        pytest.importorskip(name, reason="needs the extra documents of fathom-eval, and reportlab")


def pdf_bytes(
    title: str, paragraphs: Sequence[str], rows: Sequence[Sequence[str]] = (), *, columns: int = 2, lock: str = ""
) -> bytes:
    """A PDF with justified text in columns, and a table after the second paragraph."""
    from reportlab.lib import colors, pagesizes, pdfencrypt, styles, units
    from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate, Paragraph, Table, TableStyle

    style = styles.getSampleStyleSheet()
    width, height = pagesizes.A4
    margin, gap = 2 * units.cm, units.cm
    each = (width - 2 * margin - gap * (columns - 1)) / columns
    frames = [
        Frame(margin + number * (each + gap), margin, each, height - 2 * margin, id=str(number))
        for number in range(columns)
    ]
    flow: list[Any] = [Paragraph(escape(title), style["Heading1"])]
    for number, paragraph in enumerate(paragraphs):
        flow.append(Paragraph(escape(paragraph), style["BodyText"]))
        if rows and number == 1:
            flow.append(Table(rows, style=TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.black)])))
    stream = BytesIO()
    locked = pdfencrypt.StandardEncryption(lock, canPrint=0) if lock else None
    made = BaseDocTemplate(stream, pagesize=pagesizes.A4, title=title, encrypt=locked, invariant=1)
    made.addPageTemplates([PageTemplate("text", frames)])
    made.build(flow)
    return stream.getvalue()


def interleaved_pdf(heading: str, first: Sequence[str], second: Sequence[str]) -> bytes:
    """A PDF of two columns whose file holds a line of the first, then one of the second, and so on."""
    from reportlab.pdfgen.canvas import Canvas

    stream = BytesIO()
    canvas = Canvas(stream, invariant=1)
    canvas.drawString(60, 800, heading)
    for number, lines in enumerate(zip(first, second, strict=True)):
        for x, line in zip((60, 320), lines, strict=True):
            canvas.drawString(x, 770 - 14 * number, line)
    canvas.save()
    return stream.getvalue()


def scanned_pdf(pages: int = 1, text: str = "") -> bytes:
    """A PDF of pictures of pages, and a last page with a text."""
    from PIL import Image
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen.canvas import Canvas

    stream = BytesIO()
    canvas = Canvas(stream, invariant=1)
    for _ in range(pages):
        canvas.drawImage(ImageReader(Image.new("L", (100, 140), 200)), 50, 50, 500, 700)
        canvas.showPage()
    if text:
        canvas.drawString(60, 800, text)
    canvas.save()
    return stream.getvalue()


def zipped(parts: dict[str, str | bytes]) -> bytes:
    """A ZIP archive of some parts."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def docx_bytes(paragraphs: Sequence[str], rows: Sequence[Sequence[str]] = (), *, head: str = "") -> bytes:
    """A Word file with a table at the end, and the last paragraph in a content control."""

    def one(text: str) -> str:
        return f'<w:p><w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r></w:p>'

    cells = ("".join(f"<w:tc>{one(cell)}</w:tc>" for cell in row) for row in rows)
    table = f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>" if rows else ""
    *plain, last = paragraphs
    body = "".join(map(one, plain)) + f"<w:sdt><w:sdtContent>{one(last)}</w:sdtContent></w:sdt>" + table
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    kinds = "http://schemas.openxmlformats.org/package/2006"
    main = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    return zipped(
        {
            "[Content_Types].xml": f'<Types xmlns="{kinds}/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/word/document.xml" ContentType="{main}"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{kinds}/relationships">'
            f'<Relationship Id="r1" Type="{relation}" Target="word/document.xml"/></Relationships>',
            "word/document.xml": f'{head}<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>',
        }
    )


def pptx_bytes(slides: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]] = (), notes: str = "") -> bytes:
    """Slides with a title and a text, the last one with a table and notes."""
    from pptx import Presentation
    from pptx.util import Cm

    made = Presentation()
    for title, text in slides:
        slide = made.slides.add_slide(made.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = text
    if rows:
        table = slide.shapes.add_table(len(rows), len(rows[0]), Cm(1), Cm(12), Cm(20), Cm(5)).table
        for number, row in enumerate(rows):
            for column, cell in enumerate(row):
                table.cell(number, column).text = cell
    if notes:
        slide.notes_slide.notes_text_frame.text = notes
    stream = BytesIO()
    made.save(stream)
    return stream.getvalue()


def html_text(title: str, paragraphs: Sequence[str], rows: Sequence[Sequence[str]] = ()) -> str:
    """A web page with navigation, scripts, a banner and a footer."""
    cells = ("".join(f"<td><p>{escape(cell)}</p></td>" for cell in row) for row in rows)
    table = "".join(f"<tr>{row}</tr>" for row in cells)
    text = "".join(f"<p>{escape(paragraph)}</p>\n" for paragraph in paragraphs)
    return f"""<!DOCTYPE html>
<html><head><title>{escape(title)}</title><style>p {{ color: red }}</style><script>var hidden = 1;</script></head>
<body><header>Our company</header><nav><ul><li><a href="/">Home</a></li><li>Products</li></ul></nav>
<div role="navigation">Breadcrumbs</div><h1>{escape(title)}</h1>
{text}<table>{table}</table><p hidden>Never shown</p><noscript>Enable scripts</noscript>
<aside>Related pages</aside><footer>Imprint and cookies</footer><script>track()</script></body></html>"""


def epub_bytes(chapters: Sequence[tuple[str, Sequence[str]]], *, locked: bool = False) -> bytes:
    """A book in chapters, with a table of contents that is no chapter."""
    names = [f"chapter {number}.xhtml" for number in range(len(chapters))]
    items = "".join(
        f'<item id="c{number}" href="{name.replace(" ", "%20")}" media-type="application/xhtml+xml"/>'
        for number, name in enumerate(names)
    )
    spine = "".join(f'<itemref idref="c{number}"/>' for number in range(len(names)))
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata/><manifest>'
        f'<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>{items}</manifest>'
        f'<spine><itemref idref="nav"/>{spine}</spine></package>'
    )
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="book/content.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    parts: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": container,
        "book/content.opf": package,
        "book/nav.xhtml": "<html><body><p>Contents</p></body></html>",
    }
    for name, (title, paragraphs) in zip(names, chapters, strict=True):
        text = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs)
        parts[f"book/{name}"] = f"<html><body><h1>{escape(title)}</h1>{text}</body></html>"
    if locked:
        parts["META-INF/encryption.xml"] = (
            '<encryption xmlns:e="http://www.w3.org/2001/04/xmlenc#"><e:CipherReference '
            f'URI="book/{names[0].replace(" ", "%20")}"/></encryption>'
        )
    return zipped(parts)


def mixed_folder(folder: Path, texts: Sequence[tuple[str, Sequence[str]]], rows: Sequence[Sequence[str]]) -> list[str]:
    """Write texts, each a title and paragraphs, in turn as PDF, Markdown, DOCX, PPTX, HTML and EPUB; their names."""
    folder.mkdir(exist_ok=True)
    names = []
    for number, (title, paragraphs) in enumerate(texts):
        kind = ("pdf", "md", "pdf", "docx", "html", "pptx", "pdf", "epub")[number % 8]
        names.append(f"{number:02}.{kind}")
        (folder / names[-1]).write_bytes(
            {
                "pdf": lambda t, p: pdf_bytes(t, p, rows),
                "md": lambda t, p: "\n\n".join([f"# {t}", *p]).encode(),
                "docx": lambda t, p: docx_bytes([t, *p], rows),
                "html": lambda t, p: html_text(t, p, rows).encode(),
                "pptx": lambda t, p: pptx_bytes([(t, paragraph) for paragraph in p], rows),
                "epub": lambda t, p: epub_bytes([(t, p[: len(p) // 2]), ("The rest", p[len(p) // 2 :])]),
            }[kind](title, paragraphs)
        )
    return names
