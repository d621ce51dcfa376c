"""Leaves hidden text out of Word files, as hidden elements are left out of web pages."""

from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING
from zipfile import ZipFile

if TYPE_CHECKING:
    from lxml.etree import _Element

_PARTS = ("word/document.xml", "word/footnotes.xml", "word/endnotes.xml")
_STYLES = "word/styles.xml"
_OFF = ("0", "false", "off")
_SPACE = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FIELD = (f"{_SPACE}rPr", f"{_SPACE}fldChar", f"{_SPACE}instrText")  # what a field needs, and nobody sees


def without_hidden(data: bytes) -> bytes:
    """A Word file without its hidden text and hidden table rows.

    Text is hidden by its own format, or by the style of its characters or paragraph.

    Args:
        data: The content of a file that can be opened.

    Returns:
        The content; unchanged if nothing is hidden.
    """
    with ZipFile(BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    if not any(word in parts[name] for name in (*_PARTS, _STYLES) if name in parts for word in (b"vanish", b":hidden")):
        return data
    hidden = _hidden_styles(_parsed(parts[_STYLES])) if _STYLES in parts else {}
    changed = {name: _without(parts[name], hidden) for name in _PARTS if name in parts}
    out = BytesIO()
    with ZipFile(out, "w") as archive:
        for name, content in {**parts, **changed}.items():
            archive.writestr(name, content)
    return out.getvalue()


def _parsed(content: bytes) -> "_Element":
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)
    return etree.fromstring(content, parser)


def _without(content: bytes, hidden: Mapping[str, bool]) -> bytes:
    from lxml import etree

    root = _parsed(content)
    for run in list(root.iter(f"{_SPACE}r")):
        if _is_hidden(run, hidden):
            for child in [child for child in run if child.tag not in _FIELD]:
                run.remove(child)
    for row in list(root.iter(f"{_SPACE}tr")):
        parent = row.getparent()
        if parent is not None and _switch(row.find(f"{_SPACE}trPr/{_SPACE}hidden")):
            parent.remove(row)
    changed: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8")
    return changed


def _is_hidden(run: "_Element", hidden: Mapping[str, bool]) -> bool:
    """Whether a run is hidden by itself, else by its style, else by that of its paragraph."""
    own = _switch(run.find(f"{_SPACE}rPr/{_SPACE}vanish"))
    if own is not None:
        return own
    style = run.find(f"{_SPACE}rPr/{_SPACE}rStyle")
    if style is not None and hidden.get(style.get(f"{_SPACE}val", "")) is not None:
        return hidden[style.get(f"{_SPACE}val", "")]
    paragraph = next(run.iterancestors(f"{_SPACE}p"), None)
    style = None if paragraph is None else paragraph.find(f"{_SPACE}pPr/{_SPACE}pStyle")
    return style is not None and hidden.get(style.get(f"{_SPACE}val", ""), False)


def _hidden_styles(root: "_Element") -> dict[str, bool]:
    """The styles that say whether their text is hidden, or are based on one that does."""
    switches: dict[str, bool] = {}
    bases: dict[str, str] = {}
    for style in root.iter(f"{_SPACE}style"):
        name, base = style.get(f"{_SPACE}styleId", ""), style.find(f"{_SPACE}basedOn")
        switch = _switch(style.find(f"{_SPACE}rPr/{_SPACE}vanish"))
        if switch is not None:
            switches[name] = switch
        elif base is not None:
            bases[name] = base.get(f"{_SPACE}val", "")
    for name, base in bases.items():
        seen = {name}
        while base in bases and base not in seen:
            seen.add(base)
            base = bases[base]
        if base in switches:
            switches[name] = switches[base]
    return switches


def _switch(element: "_Element | None") -> bool | None:
    """Whether a property is on; None without it."""
    return None if element is None else element.get(f"{_SPACE}val", "1") not in _OFF
