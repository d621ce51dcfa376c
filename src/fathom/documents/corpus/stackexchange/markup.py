"""Converts posts from HTML to plain text, keeping code unchanged."""

import html
import re
from dataclasses import dataclass, field

# Possessive quantifiers, and no part crosses the start of another tag: the time is linear in the length.
_TOKEN = re.compile(
    r"<!--(?:.*?-->|.*)"
    r"|<[!?][^<>]*+>"
    r"|<(?P<close>/?)(?P<tag>[a-zA-Z][a-zA-Z0-9]*+)"
    r"""(?P<attributes>(?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+>|[^<>]*+>)"""
    r"|(?P<text>[^<]++|<)",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"""\b(alt|href|start)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"']++))""", re.IGNORECASE)
# Lone surrogates, which JSON can encode, are not valid UTF-8.
_UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff\ud800-\udfff]")
_TICKS = re.compile("`+")
_IMAGE_LINK = re.compile(r"\.(?:png|jpe?g|gif|svg|webp|bmp)(?:[?#].*)?$", re.IGNORECASE | re.DOTALL)

# fmt: off
_BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "center", "details", "div", "dl", "fieldset", "figure", "footer",
    "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "main", "nav", "ol", "p", "pre", "section",
    "summary", "table", "ul",
))
# fmt: on
_LINES = frozenset(("dd", "dt", "li", "tr", "caption", "figcaption", "option"))
_PICTURES = frozenset(("img", "svg", "video", "iframe", "object", "embed", "picture", "canvas"))
_HIDDEN = frozenset(("script", "style", "template", "noscript"))
_DEFAULT_ALT = "enter image description here"
_LINE_BREAK = "\x1e"
DEEPEST = 20


@dataclass(frozen=True, slots=True)
class PostText:
    """A post as plain text.

    Attributes:
        text: Paragraphs with a blank line between them.
        has_images: Whether it contains an image or a link to one.
    """

    text: str
    has_images: bool


def post_text(source: str) -> PostText:
    """Convert the HTML of a post to text as a person would have typed it.

    Code blocks are fenced with backticks, verbatim; inline code is in backticks. Quotes begin with ``>``, list items
    with ``-`` or their number, table cells are separated by ``|``. A link becomes its text; an image ``[image]`` with
    its description, if any. Superscripts and subscripts get ``^`` and ``_``. Entities are resolved; control characters,
    comments, scripts and styles are removed. Nothing is loaded.

    Args:
        source: HTML, valid or not.

    Returns:
        The text, and whether there are images. Any string is accepted; the time is linear in its length.
    """
    page = _Page()
    for token in _TOKEN.finditer(source):
        if (text := token["text"]) is not None:
            page.write(_UNWANTED.sub("", html.unescape(text) if "&" in text else text))
        elif (tag := token["tag"]) is not None:
            step = page.close if token["close"] else page.open
            step(tag.lower(), token["attributes"])
    page.finish()
    return PostText("\n".join(page.lines), page.has_images)


@dataclass(slots=True)
class _Box:
    """A quote, a list or an item: the prefix of its first line and of its other lines."""

    tag: str
    prefix: str = ""
    later: str = ""
    number: int | None = None


@dataclass(slots=True)
class _Page:
    """The finished lines, and the current one."""

    lines: list[str] = field(default_factory=list)
    has_images: bool = False
    boxes: list[_Box] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    code_from: int | None = None
    in_code_block: bool = False
    hidden: str = ""
    blank_due: bool = False
    shallowest: int = 0

    def write(self, text: str) -> None:
        if not self.hidden:
            self.pieces.append(text)

    def open(self, tag: str, attributes: str) -> None:
        if self.hidden:
            return
        if tag in _PICTURES:
            self._picture(tag, attributes)
        elif tag == "a":
            self.has_images |= bool(_IMAGE_LINK.search(_attributes(attributes).get("href", "")))
        elif tag == "br":
            self.pieces.append("\n" if self.in_code_block else _LINE_BREAK)
        elif self.in_code_block:
            return
        elif tag in _HIDDEN:
            self.hidden = "" if attributes.endswith("/>") else tag
        elif tag == "code":
            self.code_from = len(self.pieces)
        elif tag in ("sup", "sub"):
            self.pieces.append("^" if tag == "sup" else "_")
        elif tag in ("td", "th"):
            if any(map(str.strip, self.pieces)):
                self.pieces.append(" | ")
        elif tag in _BLOCKS or tag in _LINES:
            self._end_line(blank=tag in _BLOCKS and not self._inside_list(tag))
            self._start_block(tag, attributes)

    def close(self, tag: str, attributes: str) -> None:
        if self.hidden:
            self.hidden = "" if tag == self.hidden else self.hidden
        elif tag == "pre":
            self._end_code_block()
        elif self.in_code_block:
            return
        elif tag == "code" and self.code_from is not None:
            self._end_inline_code(self.code_from)
        elif tag in _BLOCKS or tag in _LINES:
            self._end_line(blank=False)
            self._leave(tag)
            self.blank_due |= tag in _BLOCKS and not self._inside_list(tag)

    def finish(self) -> None:
        self._end_code_block()
        self._end_line(blank=False)

    def _picture(self, tag: str, attributes: str) -> None:
        self.has_images = True
        alt = " ".join(_attributes(attributes).get("alt", "").split())
        if tag == "img":
            self.pieces.append(f"[image: {alt}]" if alt and alt.lower() != _DEFAULT_ALT else "[image]")

    def _inside_list(self, tag: str) -> bool:
        """A nested list follows its item without a blank line."""
        return tag in ("ul", "ol") and any(box.tag == "li" for box in self.boxes)

    def _start_block(self, tag: str, attributes: str) -> None:
        if tag == "pre":
            self.in_code_block = True
        if tag == "li" and self.boxes and self.boxes[-1].tag == "li":
            self._leave("li")  # its end tag may be missing
        if len(self.boxes) >= DEEPEST:
            return
        if tag == "blockquote":
            self.boxes.append(_Box(tag, "> ", "> "))
        elif tag == "ul":
            self.boxes.append(_Box(tag))
        elif tag == "ol":
            start = _attributes(attributes).get("start", "")
            self.boxes.append(_Box(tag, number=int(start) if re.fullmatch("[0-9]{1,9}", start) else 1))
        elif tag == "li":
            self.boxes.append(self._item())

    def _item(self) -> _Box:
        parent = self.boxes[-1] if self.boxes else None
        if parent is None or parent.number is None:
            return _Box("li", "- ", "  ")
        mark = f"{parent.number}. "
        parent.number += 1
        return _Box("li", mark, " " * len(mark))

    def _leave(self, tag: str) -> None:
        if any(box.tag == tag for box in self.boxes):
            while self.boxes.pop().tag != tag:
                pass
            self.shallowest = min(self.shallowest, len(self.boxes))

    def _end_inline_code(self, start: int) -> None:
        code = "".join(self.pieces[start:])
        self.code_from = None
        if code.strip():
            ticks = "`" * _unused_ticks(code, 1)
            pad = " " if "`" in (code[0], code[-1]) else ""
            self.pieces[start:] = [f"{ticks}{pad}{code}{pad}{ticks}"]

    def _end_code_block(self) -> None:
        if not self.in_code_block:
            self._end_line(blank=False)
            return
        code = "".join(self.pieces).replace("\r\n", "\n").replace("\r", "\n")
        self.pieces.clear()
        self.in_code_block = False
        if code.strip():
            ticks = "`" * _unused_ticks(code, 3)
            for line in (ticks, *code.removeprefix("\n").rstrip().split("\n"), ticks):
                self._put(line)
        self.blank_due = True

    def _end_line(self, blank: bool) -> None:
        """Write the pending text; ``blank``: a blank line must precede the next one."""
        lines = [" ".join(line.split()) for line in "".join(self.pieces).split(_LINE_BREAK)] if self.pieces else []
        self.pieces.clear()
        self.code_from = None
        for line in lines:
            if line:
                self._put(line)
            elif len(lines) > 1:
                self.blank_due = True
        self.blank_due |= blank

    def _put(self, line: str) -> None:
        if self.blank_due and self.lines:
            self.lines.append("".join(box.later for box in self.boxes[: self.shallowest]).rstrip())
        prefix = "".join(box.prefix for box in self.boxes)
        self.lines.append(prefix + line if line else prefix.rstrip())
        for box in self.boxes:
            box.prefix = box.later
        self.blank_due = False
        self.shallowest = len(self.boxes)


def _attributes(source: str) -> dict[str, str]:
    matches = _ATTRIBUTE.findall(source)
    return {name.lower(): _UNWANTED.sub("", html.unescape("".join(values))) for name, *values in matches}


def _unused_ticks(code: str, least: int) -> int:
    """The number of backticks, at least ``least``, that does not occur in a row in the code."""
    return max([least, *(len(run) + 1 for run in _TICKS.findall(code))])
