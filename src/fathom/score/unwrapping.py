"""Takes answers out of what replies wrap them in: JSON, tags, boxes of LaTeX, code fences, tables.

A wrapper that holds the answer says more than the words around it: of a JSON object the field of the answer is read, of
several boxes the last. What is no wrapper of an answer stays as it is. All of this is linear in the length of a reply.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any

from fathom.score.dialects import without_reasoning
from fathom.score.reading import before_next_question, holds_two, plain_text

_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*\w*[ \t]*$\n?", re.MULTILINE)
_TAGGED = re.compile(r"<((?:final[_ ])?(?:answer|response))>([^<]*)</\1>", re.IGNORECASE)
_JOINING = re.compile(r"\b(?:or|and)\b", re.IGNORECASE)
_NAMES = (
    *("answer", "choice", "option", "letter", "label", "best", "match", "passage", "paragraph", "passkey"),
    *("unique", "different", "distinct", "remaining", "number", "value", "uuid", "count", "order", "result", "output"),
    *("type", "class", "category", "答案"),
)
"""Fields of the answer, in the order in which they are tried."""
_FIELD = re.compile(
    r"(?:final|best|correct|right|selected|chosen|predicted|matching|my|the){0,3}"
    rf"({'|'.join(_NAMES)})(?:id|number|no|num|index|letter|label|text|value|paragraphs?|passages?|count)?"
)
_OF_ANY_LIST = ("number", "value", "count")
_QUANTITY = re.compile("median|mean|average|mode|max|min|larg|small|sum|second|third|unique|different|^[A-D]$")
_LONGEST_MENDED = 20_000  # characters
# What people and programs write in place of JSON: a comma at the end, bare names, constants of Python, "2/3".
_MENDED = (
    (re.compile(r",(\s*[}\]])"), r"\1"),
    (re.compile(r"([{,]\s*)([A-Za-z_]\w*)(?=\s*:)"), r'\1"\2"'),
    (re.compile(r"(?<=[:\[,\s])True(?=\s*[,}\]])"), "true"),
    (re.compile(r"(?<=[:\[,\s])False(?=\s*[,}\]])"), "false"),
    (re.compile(r"(:\s*)([0-9]{1,6}\s*/\s*[0-9]{1,6})(?=\s*[,}])"), r'\1"\2"'),
)
_BOX = "\\boxed{"
_MOST_OF_BOX = 20_000  # characters
_LATEX = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\{([^{}]*)\}")
_NOT_IN_NAMES = re.compile(r"[\W_]+")
_RULE_OF_TABLE = re.compile(r"^[ \t]*\|[-:| \t]+\|[ \t]*$", re.MULTILINE)
_CELL = re.compile(r"^[ \t]*\|[ \t]*([^|\n]*[^|\s])[ \t]*\|[ \t]*$", re.MULTILINE)
_ANSWER = "\nAnswer: "
_WORD = re.compile(r"[^\W\d_]")
_MOST_AT_START, _MOST_AT_END = 1_000, 2_000  # characters of a long reply in which its answer is looked for
_PARTS_OF_ANSWERS = "ABCDEFabcdef0123456789-.,"  # a number, UUID or letter may be cut
# JSON and tags hold the answer where they stand apart from sentences: after a line end or a colon, before a line end.
_BEFORE_JSON = re.compile(r"(?:^|[:：\n])[ \t]*\Z")
_NEW_SENTENCE = re.compile(r"[ \t]*[.。]?[ \t]*(?:\n|\Z)")


@lru_cache(maxsize=16)  # several readers look at the same reply in turn
def readable(reply: str, between: str | None = " and ", longest: int = 0) -> str:
    """The text in which the answer of a reply is looked for: without wrappers, Markdown and further questions.

    Of a long reply these are its beginning and its end, where a reader looks for the answer: prompts end where the
    answer begins, and reasoning ends with it.

    Args:
        between: What joins the members of a JSON list; None if lists stay JSON.
        longest: Length of the longest answer, in characters.
    """
    text = before_next_question(without_reasoning(reply).strip())
    if text.lstrip()[:1] not in tuple('{["`'):  # JSON is read as a whole
        text = _ends(text, longest)
    return before_next_question(plain_text(_ends(unwrapped(text, between), longest)))


def _ends(text: str, longest: int) -> str:
    at_start, at_end = (max(size, 4 * longest) for size in (_MOST_AT_START, _MOST_AT_END))
    if len(text) <= at_start + at_end:
        return text
    return f"{text[:at_start].rstrip(_PARTS_OF_ANSWERS)}\n\n{text[-at_end:].lstrip(_PARTS_OF_ANSWERS)}"


def unwrapped(reply: str, between: str | None = " and ") -> str:
    """A reply without thoughts, and without the wrapper of its answer.

    Args:
        between: What joins the members of a JSON list; None if lists stay JSON.

    Returns:
        The text of the answer if the reply names one by a tag or as JSON; else the reply without fences, with
        ``Answer:`` before its last box.
    """
    text = _tagged(without_reasoning(reply))
    text = _FENCE.sub("", text) if "```" in text or "~~~" in text else text
    answer = _from_json(text.strip(), between)
    if answer is not None:
        return answer
    return _table(_unboxed(text)) if "|" in text else _unboxed(text)


def _tagged(text: str) -> str:
    """What the tags of an answer enclose, with "or" between several; the text if they stand within a sentence."""
    tagged = list(_TAGGED.finditer(text)) if "</" in text else []
    if not tagged or not tagged[-1][2].strip() or not _NEW_SENTENCE.match(text, tagged[-1].end()):
        return text
    together = [tagged[-1]]
    for earlier, later in reversed(list(pairwise(tagged))):
        if _WORD.search(_JOINING.sub(" ", text[earlier.end() : later.start()])):
            break
        together.insert(0, earlier)
    return " or ".join(dict.fromkeys(match[2].strip() for match in together))


def _from_json(text: str, between: str | None) -> str | None:
    """The answer in a JSON text, alone or within words; None if there is none."""
    whole = text[:1] in ("{", "[", '"') and text[-1:] in ("}", "]", '"')
    start, end = text.find("{"), text.rfind("}") + 1
    if not whole and not (0 <= start < end and _BEFORE_JSON.search(text[:start]) and _NEW_SENTENCE.match(text, end)):
        return None
    try:
        return _answer_of(read_json(text if whole else text[start:end]), between)
    except (ValueError, RecursionError):
        return None


def read_json(text: str, pairs: Callable[[list[tuple[str, Any]]], object] | None = None) -> object:
    """The value of a JSON text, also with single quotes, bare names or a comma at the end.

    Args:
        pairs: Makes an object of its names and values; None for a dictionary.

    Raises:
        ValueError: It is neither.
        RecursionError: It is too deep.
    """
    try:
        return json.loads(text, object_pairs_hook=pairs)
    except ValueError:
        if len(text) > _LONGEST_MENDED:
            raise
    text = text if '"' in text else text.replace("'", '"')
    for pattern, mended in _MENDED:
        text = pattern.sub(mended, text)
    return json.loads(text, object_pairs_hook=pairs)


def _answer_of(value: object, between: str | None) -> str | None:
    if isinstance(value, dict):
        named = _answer_field(value)
        if named is None and len(value) != 1:
            listed = [(str(name).replace("_", " "), _scalar(member)) for name, member in value.items()]
            stated = any(_QUANTITY.search(name) for name, _ in listed) and all(text is not None for _, text in listed)
            return "\n".join(f"{name}: {text}" for name, text in listed) if stated else None
        value = next(iter(value.values())) if named is None else named
        if isinstance(value, dict):
            return _answer_of(value, between)
    if isinstance(value, list) and not (between is None and len(value) > 1):
        members = [None if isinstance(member, bool) else _scalar(member) for member in value]
        return None if None in members or not members else (between or "").join(filter(None, members))
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else _scalar(value)


def _answer_field(fields: Mapping[object, object]) -> object:
    """The field of the answer; None if there is none, or if it says how many numbers a quantity is taken of."""
    names = {name: _NOT_IN_NAMES.sub("", str(name)).lower() for name in fields}
    matches = {name: match[1] for name, text in names.items() if (match := _FIELD.fullmatch(text))}
    best = min(matches, key=lambda name: _NAMES.index(matches[name]), default=None)
    others = any(_QUANTITY.search(text) for name, text in names.items() if name != best)
    return None if best is None or (matches[best] in _OF_ANY_LIST and others) else fields[best]


def _scalar(value: object) -> str | None:
    if isinstance(value, bool):
        return json.dumps(value)
    return str(value) if isinstance(value, str | int | float) else None


def _unboxed(text: str) -> str:
    """A text with the content of its boxes instead of them, and with ``Answer:`` before the last."""
    if _BOX not in text:
        return text
    pieces: list[str] = []
    done, before_last = 0, 0
    for start, end in _boxes(text):
        pieces += [text[done:start], text[start + len(_BOX) : end]]
        before_last, done = len(pieces) - 1, end + 1
    if not pieces:
        return text
    # "either \\boxed{A} or \\boxed{B}" chooses none, and so do boxes beside each other.
    if before_last > 2 and pieces[before_last] != pieces[before_last - 2] and not _WORD.search(pieces[before_last - 1]):
        pieces[before_last - 1] = " or "
    elif before_last < 2 or not holds_two(pieces[before_last - 1]):
        pieces[before_last - 1] += _ANSWER
    return _LATEX.sub(r"\1", "".join((*pieces, text[done:])).replace("$", ""))


def _boxes(text: str) -> list[tuple[int, int]]:
    """The start of each box and its closing brace; boxes that never close are left out."""
    places: list[tuple[int, int]] = []
    start = text.find(_BOX)
    while start >= 0:
        depth, end = 1, start + len(_BOX)
        limit = min(len(text), end + _MOST_OF_BOX)
        while end < limit and depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        if depth:
            break
        places.append((start, end - 1))
        start = text.find(_BOX, end)
    return places


def _table(text: str) -> str:
    """A text with the cells of a table of one column as lines, without its heading."""
    match = _RULE_OF_TABLE.search(text)
    return _CELL.sub(r"\1", text[match.end() :]).strip() if match else text
