"""Text of PDF, DOCX, PPTX, HTML and EPUB files, by page where the format has pages.

Cells of a table's row are separated by tabs. The libraries are those of the extra ``documents``. Files may be damaged
or hostile: ``fathom.documents.records.extractor`` calls these functions in a process with limits.
"""

import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import pairwise
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from zipfile import ZipFile

from fathom.documents.records.word_files import without_hidden

if TYPE_CHECKING:
    from lxml.etree import _Element

SCANNED = "scanned: no text; run OCR first, for instance with ocrmypdf"
LOCKED = "encrypted: save a copy without a password"
EMPTY = "it has no text"
MOST_UNPACKED = 1 << 30  # bytes of all parts of a file that is a ZIP archive inside
MOST_TIMES = 200  # times that such a file may be compressed, if it is large
LARGE = 64 << 20
MOST_PARTS = 50_000
MOST_PAGES = 50_000
MOST_CHARACTERS = 1 << 27

_WIDE_GAP = 1.0  # space between two cells of a row, in heights of the line
_PARAGRAPH_GAP = 0.25  # space between two paragraphs beyond that between their lines, in heights of the line
_PROSE = 0.6  # median width of the lines of a column of prose, as a share of the column
_LINE_HYPHEN = re.compile("[\ufffe\x02][\r\n]*")
_LINE_END_SPACES = re.compile(r"(?<![ \t])[ \t]+$", re.MULTILINE)  # from the first only: linear time
_UNREADABLE = re.compile("[\ufffd\ue000-\uf8ff\x00-\x08\x0e-\x1f]")
Box = tuple[float, float, float, float]
"""Left, bottom, right and top, in points from the lower left corner of the page."""


class NoTextError(Exception):
    """A file has no usable text; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """The text of a file.

    Attributes:
        pages: Texts of its pages, slides or chapters in order, the empty ones too; one if the format has none.
        paged: Whether the format has pages, slides or chapters.
        remark: Which parts of the file have no text, or "".
    """

    pages: tuple[str, ...]
    paged: bool = True
    remark: str = ""


def extract(data: bytes, suffix: str) -> Extracted:
    """The text of a file.

    Args:
        suffix: One of ``EXTRACTORS``.

    Raises:
        NoTextError: It has none, or cannot be read.
    """
    if not data:
        raise NoTextError("the file is empty")
    extracted = EXTRACTORS[suffix](data)
    # Fonts and slides may have half of a letter of two halves, which cannot be stored.
    extracted = replace(extracted, pages=tuple(page.encode(errors="replace").decode() for page in extracted.pages))
    if not any(map(str.strip, extracted.pages)):
        raise NoTextError(EMPTY)
    if sum(map(len, extracted.pages)) > MOST_CHARACTERS:
        raise NoTextError(f"it has more than {MOST_CHARACTERS >> 20:,} Mi characters; split it")
    return extracted


# ----------------------------------------------------------------------------------------------------------- PDF


def _pdf(data: bytes) -> Extracted:
    import pypdfium2
    import pypdfium2.raw as raw

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        locked = "password" in str(error).lower() or "security" in str(error).lower()
        raise NoTextError(LOCKED if locked else f"damaged: not a readable PDF ({error})") from error
    with document:
        if len(document) > MOST_PAGES:
            raise NoTextError(f"it has more than {MOST_PAGES:,} pages; split it")
        texts: list[str] = []
        scanned: list[int] = []
        broken: list[int] = []
        for number in range(len(document)):
            try:
                page = document[number]
                texts.append(_page_text(page))
                if not texts[-1].strip() and any(page.get_objects([raw.FPDF_PAGEOBJ_IMAGE], max_depth=3)):
                    scanned.append(number + 1)
            except pypdfium2.PdfiumError:
                texts.append("")
                broken.append(number + 1)
    whole = "".join(texts)
    if scanned and not whole.strip():
        raise NoTextError(SCANNED)
    if 3 * len(_UNREADABLE.findall(whole)) > len(whole) > 0:
        raise NoTextError("its fonts do not say which letters they show; run OCR first, for instance with ocrmypdf")
    remarks = (
        [f"{'pages' if len(scanned) > 1 else 'page'} {_numbers(scanned)} without text, perhaps scanned: run OCR first"]
        if scanned
        else []
    )
    remarks += (
        [f"not read, because damaged: {'pages' if len(broken) > 1 else 'page'} {_numbers(broken)}"] if broken else []
    )
    return Extracted(tuple(texts), remark="; ".join(remarks))


def _numbers(pages: Sequence[int]) -> str:
    return ", ".join(map(str, pages[:20])) + (f" and {len(pages) - 20:,} more" if len(pages) > 20 else "")


def _page_text(page: Any) -> str:
    """The text of a page in its own order, by columns if its file interleaves them."""
    text_page = page.get_textpage()
    boxes = [text_page.get_rect(number) for number in range(text_page.count_rects())]
    if not boxes:
        return ""
    crops = _interleaved(boxes)
    pieces = [text_page.get_text_bounded(*crop).strip() for crop in crops] if crops else [_laid_out(text_page)]
    text = "\n".join(_LINE_HYPHEN.sub("", piece.replace("\r\n", "\n")) for piece in pieces if piece)
    return _LINE_END_SPACES.sub("", text)


def _laid_out(page: Any) -> str:
    """The text with blank lines between paragraphs and tabs between cells."""
    text: str = page.get_text_range()
    if len(text) != page.count_chars():  # rare characters count twice, so that boxes would be those of others
        return text
    gaps = [match.span() for match in re.finditer(r"\s+", text) if match.start() and match.end() < len(text)]
    boxes = [(page.get_charbox(start - 1, loose=True), page.get_charbox(end, loose=True)) for start, end in gaps]
    leading = sorted(before[1] - after[3] for before, after in boxes if not _same_line(before, after))
    usual = leading[len(leading) // 2] if leading else 0.0
    laid, at = list[str](), 0
    for (start, end), (before, after) in zip(gaps, boxes, strict=True):
        laid += [text[at:start], _space(text[start:end], before, after, usual)]
        at = end
    return "".join([*laid, text[at:]])


def _same_line(before: Box, after: Box) -> bool:
    return before[1] <= (after[1] + after[3]) / 2 <= before[3] and after[0] >= before[0]


def _space(space: str, before: Box, after: Box, usual: float) -> str:
    """What is shown for the space between two characters; ``usual`` is that between two lines of the page."""
    height = max(1.0, min(before[3] - before[1], after[3] - after[1]))
    if _same_line(before, after):
        return "\t" if after[0] - before[2] > _WIDE_GAP * height else " "
    if "\n" not in space:
        return " "
    gap = before[1] - after[3]
    # The next column starts above, and a paragraph often continues there.
    return "\n\n" if gap > usual + _PARAGRAPH_GAP * height else "\n"


def _interleaved(boxes: Sequence[Box]) -> list[Box]:
    """The parts of a page with two columns whose file alternates between them line by line, in reading order.

    Such files are rare, but reading one in its order would mix two texts. In a table, which is read by rows, the lines
    do not fill their columns.
    """
    left, right = min(box[0] for box in boxes), max(box[2] for box in boxes)
    gutter = _gutter(boxes, left, right)
    across = [box for box in boxes if box[0] < gutter < box[2]]
    beside = [box for box in boxes if not box[0] < gutter < box[2]]
    firsts, seconds = ([box for box in beside if (box[2] <= gutter) == first] for first in (True, False))
    if len(across) * 4 > len(beside) or min(len(firsts), len(seconds)) < 5:
        return []
    turns = sum((a[2] <= gutter) != (b[2] <= gutter) for a, b in pairwise(beside))
    if turns < min(len(firsts), len(seconds)):
        return []
    if not (_prose(firsts, gutter - left) and _prose(seconds, right - gutter)):
        return []
    across.sort(key=lambda box: -box[3])
    edges = [max(box[3] for box in boxes) + 1, *(box[1] for box in across)]
    lows = [*(box[3] for box in across), min(box[1] for box in boxes) - 1]
    crops: list[Box] = []
    for number, (top, low) in enumerate(zip(edges, lows, strict=True)):
        if low < top:
            crops += [(left - 1, low, gutter, top), (gutter, low, right + 1, top)]
        if number < len(across):
            crops.append(across[number])
    return crops


def _gutter(boxes: Sequence[Box], left: float, right: float) -> float:
    """The vertical line near the middle of a page that crosses the fewest boxes."""
    middle = (left + right) / 2
    places = sorted((left + (right - left) * step / 100 for step in range(35, 66)), key=lambda x: abs(x - middle))
    return min(places, key=lambda x: sum(box[0] < x < box[2] for box in boxes))


def _prose(column: Sequence[Box], width: float) -> bool:
    widths = sorted(box[2] - box[0] for box in column)
    return widths[len(widths) // 2] > _PROSE * width


# ------------------------------------------------------------------------------------------ files that are archives


def _docx(data: bytes) -> Extracted:
    import mammoth

    with opened(data, "Word file"):
        pass
    # Pictures are left out without being opened; linked files are never read.
    picture = mammoth.images.img_element(lambda image: {"src": ""})
    html = mammoth.convert_to_html(BytesIO(without_hidden(data)), convert_image=picture).value
    return Extracted((_html_text(html.encode()),), paged=False)


def _pptx(data: bytes) -> Extracted:
    import pptx

    with opened(data, "PowerPoint file"):
        pass
    slides = pptx.Presentation(BytesIO(data)).slides
    # A hidden slide is an empty one, so that the others keep their numbers.
    shown = ("" if slide.element.get("show") == "0" else "\n".join(_slide_lines(slide)) for slide in slides)
    return Extracted(tuple(shown))


def _slide_lines(slide: Any) -> Iterator[str]:
    for shape in slide.shapes:
        yield from _shape_lines(shape)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        yield slide.notes_slide.notes_text_frame.text


def _shape_lines(shape: Any) -> Iterator[str]:
    properties = next(shape.element.iter("{*}cNvPr"), None)
    if properties is not None and properties.get("hidden") in ("1", "true"):
        return
    if hasattr(shape, "shapes"):  # a group
        for inner in shape.shapes:
            yield from _shape_lines(inner)
    elif getattr(shape, "has_table", False):
        for row in shape.table.rows:
            yield "\t".join(" ".join(cell.text.split()) for cell in row.cells)
    elif shape.has_text_frame and shape.text_frame.text.strip():
        yield shape.text_frame.text.replace("\v", "\n")
        yield ""


def _epub(data: bytes) -> Extracted:
    with opened(data, "EPUB file") as archive:
        container = _xml(_member(archive, "META-INF/container.xml"))
        package = next((item.get("full-path", "") for item in container.iter("{*}rootfile")), "")
        root = _xml(_member(archive, package))
        items = {item.get("id"): item for item in root.iter("{*}item")}
        spine = [items.get(item.get("idref")) for item in root.iter("{*}itemref")]
        names = [
            normpath(join(dirname(package), unquote(item.get("href", ""))))
            for item in spine
            if item is not None and "nav" not in (item.get("properties") or "").split()
        ]
        if locked := set(_locked(archive)) & set(names):
            raise NoTextError(f"protected against copying ({len(locked)} chapters are encrypted); use another edition")
        return Extracted(tuple(_html_text(_member(archive, name)) for name in names))


def _locked(archive: ZipFile) -> Iterator[str]:
    """The encrypted parts of an EPUB; fonts often are."""
    if "META-INF/encryption.xml" in archive.namelist():
        for reference in _xml(_member(archive, "META-INF/encryption.xml")).iter("{*}CipherReference"):
            yield normpath(unquote(reference.get("URI", "")))


def opened(data: bytes, kind: str) -> ZipFile:
    """A file that is a ZIP archive inside, if its parts may be unpacked.

    Args:
        kind: What it is, for messages.

    Raises:
        NoTextError: It is damaged, encrypted, or unpacks to far more than it is.
    """
    if data.startswith(b"\xd0\xcf\x11\xe0"):  # an OLE file, which holds encrypted and old documents
        raise NoTextError(f"encrypted, or of an old format: save a copy without a password as a current {kind}")
    try:
        archive = ZipFile(BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise NoTextError(f"damaged: not a readable {kind} ({error})") from error
    parts = archive.infolist()
    size = sum(part.file_size for part in parts)
    if len(parts) > MOST_PARTS or size > MOST_UNPACKED or size > max(LARGE, MOST_TIMES * len(data)):
        raise NoTextError(
            f"its {len(parts):,} parts would unpack to {size >> 20:,} MiB; convert it to text if that is right"
        )
    if any(part.flag_bits & 1 for part in parts):
        raise NoTextError(LOCKED)
    return archive


def _member(archive: ZipFile, name: str) -> bytes:
    try:
        return archive.read(name)
    except KeyError as error:
        raise NoTextError(f"damaged: it has no part {name!r}") from error


def _xml(data: bytes) -> "_Element":
    from lxml import etree

    return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))


# ---------------------------------------------------------------------------------------------------------- HTML

# fmt: off
_SKIPPED = frozenset({
    "script", "style", "noscript", "template", "title", "nav", "iframe", "object", "embed", "svg", "canvas", "audio",
    "video", "map", "button", "select", "input", "textarea", "dialog", "datalist",
})
_SKIPPED_ROLES = frozenset({
    "navigation", "banner", "contentinfo", "search", "menu", "menubar", "toolbar", "dialog", "alertdialog",
})
_OUTSIDE = ("header", "footer", "aside")  # of the page; those of an article belong to it
_APART = frozenset({
    "p", "h1", "h2", "h3", "h4", "h5", "h6", "table", "blockquote", "pre", "figure", "section",
    "article", "main", "header", "footer", "aside", "hr", "fieldset", "details",
})
_LINES = frozenset({
    "div", "ul", "ol", "dl", "li", "dt", "dd", "tr", "caption", "figcaption", "address", "br", "summary", "legend",
    "center",
})
# fmt: on
_CELLS = ("td", "th")
_HIDING = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)(?![\w-])", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\r\n\f]+")
MOST_BLOCKS_OF_CELL = 10  # paragraphs and lines; a cell with more arranges the page


def _html(data: bytes) -> Extracted:
    return Extracted((_html_text(data),), paged=False)


def _html_text(data: bytes) -> str:
    """The visible text of a page, without navigation; of its main part, if one is marked."""
    from lxml import etree, html

    if not data.strip():
        return ""
    parser = html.HTMLParser(encoding=_encoding(data), huge_tree=True, no_network=True, remove_comments=True)
    root = etree.fromstring(data, parser)
    if root is None:
        return ""
    mains = [main for main in root.iter("main") if main.get("hidden") is None]
    return _visible(mains[0] if len(mains) == 1 else root)


def _encoding(data: bytes) -> str | None:
    """UTF-8 if the page is; otherwise None for what it declares."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return None
    return "utf-8"


def _visible(root: "_Element") -> str:
    from lxml import etree

    text = _Lines()
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        name = element.tag if isinstance(element.tag, str) else ""
        hidden = not name or _is_hidden(element, name)
        if event == "start" and hidden:
            walk.skip_subtree()
        elif event == "start":
            text.start(name, layout=name in _CELLS and _is_layout(element))
            text.add(element.text or "", pre=name == "pre")
        else:
            if not hidden:
                text.end(name)
            if element is not root:
                text.add(element.tail or "", pre=False)
    return text.joined()


def _is_layout(cell: "_Element") -> bool:
    """Whether a cell arranges a page, as in old pages, instead of holding a value."""
    inner = cell.iter("table", "p", "div", "li", "br")
    return next(cell.iter("table"), None) is not None or sum(1 for _ in inner) > MOST_BLOCKS_OF_CELL


def _is_hidden(element: "_Element", name: str) -> bool:
    return (
        name in _SKIPPED
        or element.get("hidden") is not None
        or element.get("aria-hidden") == "true"
        or _HIDING.search(element.get("style", "")) is not None
        or element.get("role") in _SKIPPED_ROLES
        or (name in _OUTSIDE and next(element.iterancestors("article", "main", "section"), None) is None)
    )


class _Lines:
    """Text in lines, with white space as a browser shows it."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._ends = 2  # line ends after the last text
        self._start = True  # of a line or cell, where spaces are not shown
        self._cells: list[bool] = []  # open cells; whether each arranges the page

    def start(self, name: str, *, layout: bool) -> None:
        """The space before an element."""
        if name in _CELLS:
            self._cells.append(layout)
        else:
            self._around(name)

    def end(self, name: str) -> None:
        """The space after an element."""
        if name not in _CELLS:
            self._around(name)
        elif self._cells and self._cells.pop():
            self._break(1)
        else:
            self._separate("\t")

    def _around(self, name: str) -> None:
        if name not in _APART and name not in _LINES:
            return
        if self._cells and not self._cells[-1]:  # a row stays one line
            self.add(" ", pre=False)
        else:
            self._break(2 if name in _APART else 1)

    def _break(self, ends: int) -> None:
        if ends > self._ends:
            self._separate("\n" * (ends - self._ends))
            self._ends = ends
        self._start = True

    def _separate(self, space: str) -> None:
        if self._pieces and self._pieces[-1].endswith(" "):
            self._pieces[-1] = self._pieces[-1].rstrip(" ")
        self._pieces.append(space)
        self._start = True

    def add(self, text: str, *, pre: bool) -> None:
        """Text of an element, or after it."""
        shown = text if pre else _SPACES.sub(" ", text)
        if self._start and not pre:
            shown = shown.lstrip(" ")
        if shown:
            self._pieces.append(shown)
            self._start, self._ends = shown.endswith(" "), 0

    def joined(self) -> str:
        """All of it, without spaces at the ends of lines."""
        return _LINE_END_SPACES.sub("", "".join(self._pieces)).strip("\n")


EXTRACTORS: Mapping[str, Callable[[bytes], Extracted]] = {
    ".pdf": _pdf,
    ".docx": _docx,
    ".pptx": _pptx,
    ".html": _html,
    ".htm": _html,
    ".xhtml": _html,
    ".epub": _epub,
}
