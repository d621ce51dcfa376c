"""Reads choices out of replies: the one of four that a reply takes, or all that it takes."""

from __future__ import annotations

import re

from fathom.score.reading import after_cues, plain

_OPEN, _CLOSED = r"[(\[{\"'“‘]", r"[)\]}\"'”’]"
# Not the article that begins "A good one"; "A because" is a choice.
_ARTICLE = r"[ \t]+(?!(?:and|or|as|because|since|for|is|was|based|due|given|which|with|not)\b)[a-z]"
_ALONE = rf"(?<![A-Za-z0-9])([B-D]|A(?!{_ARTICLE}))(?![A-Za-z0-9]|['’-][A-Za-z])"
_LETTER = re.compile(_ALONE)
# A small letter may be an article: it has to be in brackets or the last of its sentence.
_SMALL = re.compile(rf"{_OPEN}([a-d]){_CLOSED}|(?<![A-Za-z0-9])([b-d]|a(?=\W*$))(?=[ \t]*(?:[.。!;\n]|$))")
_BRACKETED = re.compile(rf"{_OPEN}([A-D]){_CLOSED}")
_LAST = re.compile(rf"{_ALONE}\W*\Z")
_NOTHING_ELSE = re.compile(r"\W*([A-Da-d])\W*")
_LEADING = re.compile(rf"\W*{_ALONE}(?=[ \t]*(?:[.:)\],;\n]|$))")
_NAMED = re.compile(rf"\b(?:[Oo]ption|[Cc]hoice|choose|pick|select)[ \t]+{_OPEN}?{_ALONE}")
_RULED_OUT = re.compile(
    r"(?:\b(?:not|nor|neither|cannot be|rather than|instead of|unlike)\b|n['’]t\b|不是|并非|而非|不选)"
    rf"[ \t]*(?:(?:option|choice|answer)[ \t]*)?{_OPEN}?(?<![A-Za-z0-9])[A-Da-d](?![A-Za-z0-9]){_CLOSED}?"
    rf"|{_OPEN}?{_ALONE}{_CLOSED}?[ \t]+(?:is|was|seems)[ \t]+(?:wrong|incorrect|false|not[ \t]+(?:right|correct))"
)
_MARK = re.compile(r"(?<![^\s,(\[])([A-D])[.:)\]](?=\s|$)")
_SEVERAL = re.compile(rf"(?<![A-Za-z0-9])([A-D]{{2,4}}|[B-D]|A(?!{_ARTICLE}))(?![A-Za-z0-9]|['’-][A-Za-z])")
_REASONS = re.compile(r"\b(?:because|since|as)\b")
# Between two letters that are given together.
_TOGETHER = re.compile(
    rf"{_CLOSED}?[ \t]*(?:,?[ \t]*(?:and|or|&|和|或|及)|[,/、+])[ \t]*(?:both[ \t]+)?{_OPEN}?{_ALONE}"
)


def choice_letter(reply: str) -> str | None:
    """The one letter from A to D that a reply takes; None if it takes none or several.

    What follows the last "answer is" or ``Answer:`` counts, if a letter stands alone there; else the letter that leads
    the reply ("B. Because"); else the only one in brackets or named ("option B"), else the only one of
    all where it is the last word. What is ruled out ("not (A)", "A is wrong") does not count.

    Args:
        reply: The whole reply; thoughts in tags are left aside.
    """
    text = _RULED_OUT.sub(" ", plain(reply))
    for part in after_cues(text):
        if found := _LETTER.search(part):
            other = _TOGETHER.match(part, found.end())
            return None if other and other[1] != found[1] else found[1]
        if found := _SMALL.search(part):
            return (found[1] or found[2]).upper()
    if (found := _LEADING.match(text)) and not _TOGETHER.match(text, found.end()):
        return found[1]
    if alone := _NOTHING_ELSE.fullmatch(text):
        return alone[1].upper()
    named = {*_BRACKETED.findall(text), *_NAMED.findall(text)}
    if not named and _LAST.search(text):
        named = set(_LETTER.findall(text))
    return named.pop() if len(named) == 1 else None


def choice_letters(reply: str) -> str:
    """All letters from A to D that a reply takes, in alphabetical order ("AC"); "" if there are none.

    What follows the last cue counts, else the whole reply: its marks if it begins with one ("A. first"), else the
    first line that names letters, alone or as a word of them ("AC"), up to its reasons.

    Args:
        reply: The whole reply; thoughts in tags are left aside.
    """
    text = _RULED_OUT.sub(" ", plain(reply))
    for part in (*after_cues(text), text):
        lines = [_REASONS.split(line)[0] for line in part.splitlines()]
        named = next(filter(None, map(_SEVERAL.findall, lines)), ())
        leads = _MARK.match(part, len(part) - len(part.lstrip(" \t\n([-•")))
        if found := "".join(_MARK.findall(part) if leads else named):
            return "".join(sorted(set(found)))
    alone = _NOTHING_ELSE.fullmatch(text)
    return alone[1].upper() if alone else ""
