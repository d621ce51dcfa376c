"""Metrics of RULERv2, as its publisher's NeMo Gym computes them.

A gold text that the reply does not contain still scores 1 minus the word error rate of the whole reply against it, so
that a near text gets a part. ``ruler2_all`` is the mean over gold texts, ``ruler2_part`` the largest after blocks that
begin with ``Document N:`` are removed, ``ruler2_2steps`` the mean over the last paragraph alone, ``ruler2_mcq_letter``
the letter after "The final answer is", in ``\\boxed{}`` or after "Answer:".

``strict`` gives no parts for near texts: gold texts count as whole words, whatever their line ends. Others of their
kind that a reply names count against it: numbers of as many digits (seven at least), and questions with four options.
So the mean is the share of the gold texts among these and all others named, and nothing if the others are more. In
``ruler2_part`` answers in words are read after the last "Answer:" or "答案：" that begins a line, if there is one, and
without documents that are copied. Of names that stand for others in the documents (the input ``others`` of generated
tasks) the share counts, as of numbers; without that input an answer that has no such beginning is a reply of at most 80
characters, or a last paragraph of as many. In ``ruler2_2steps`` nothing of the kind may follow the gold text. A letter
must be chosen as in all other tasks. Marks of form do not count: kinds of quotes, asterisks, dashes of lists, "A)" for
"A.", and separators in numbers.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from fathom.score.answers import choice_letter
from fathom.score.registry import ScoringRow
from fathom.score.released import Answer, Corrected, Released, metric, texts
from fathom.score.text import caseless, fold, stands_in

_BLOCK = re.compile(r"Document \d+:(?:.*\n)+?\n")
_FINAL = re.compile(r"The final answer is (.+)$", re.MULTILINE)
_LAST_LETTER = re.compile(r"\b[A-Z]\b(?!.*\b[A-Z]\b)", re.DOTALL)
_LABELLED = re.compile(r"(?i)[\*\_]{0,2}Answer[\*\_]{0,2}\s*:[\s\*\_]{0,2}\s*([A-Z])(?![a-zA-Z0-9])")
_BOXED = "\\boxed{"
_CODE = re.compile(r"\d{7,}")
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_OPTION = re.compile(r"(?<![A-Za-z0-9])([A-D])[.)](?=\s)")
_SHORT, _LONG = 80, 300  # characters of an answer in words; _LONG where it is marked or others of its kind are known
_ANSWER = re.compile(r"^(?:#+ |>)?[ \t]*(?:final )?(?:answer|答案)[ \t]*:", re.IGNORECASE | re.MULTILINE)
_HEAD = re.compile(r"^(?:#+ )?(?:document|文档)[ \t]*\d+[ \t]*(?::|$)", re.IGNORECASE | re.MULTILINE)
_PARAGRAPHS = re.compile(r"\n(?:[ \t]*\n)+")
_DASH = re.compile(r"^[ \t]*[->•][ \t]+", re.MULTILINE)
_LETTERED = re.compile(r"(?<![A-Za-z0-9])\(?([A-D])[.)](?=\s)")
_MARKS = str.maketrans({"*": None} | dict.fromkeys("‘’", "'") | dict.fromkeys("“”", '"'))
OTHERS = "others"
"""The input of a sample with the names of the kind of the gold answer that its documents have besides it, as JSON."""
_OTHER_SCRIPTS = str.maketrans({letter: f" {'ABCD'[at % 4]}" for at, letter in enumerate("أبجدঅবডঢＡＢＣＤ")})


def edits(first: Sequence[str], second: Sequence[str]) -> int:
    """Fewest words to insert, delete or replace between two sequences."""
    row = list(range(len(second) + 1))
    for number, word in enumerate(first, 1):
        before, row[0] = row[0], number
        for at, other in enumerate(second, 1):
            before, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, before + (word != other))
    return row[-1]


def _soft(reply: str, gold: str) -> float:
    reply, gold = reply.lower(), gold.lower()
    if gold in reply:
        return 1.0
    words = gold.split()
    return max(0.0, 1.0 - edits(reply.split(), words) / len(words)) if words else 0.0


def _golds(gold: Any) -> list[str]:
    return [str(text) for text in gold] if isinstance(gold, list) else [str(gold)]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _official(clean: Callable[[str], str], join: Callable[[Sequence[float]], float]) -> Released:
    def compute(reply: Any, gold: Any, row: ScoringRow) -> Answer:
        text, golds = clean(reply), _golds(gold)
        return join([_soft(text, text_of) for text_of in golds]) if golds else 0.0, bool(text.strip()), None

    return compute


def _contained(reply: str, golds: Sequence[str]) -> list[str]:
    """The gold texts that a reply contains as whole words."""
    text = caseless(reply)
    return [gold for gold in golds if caseless(gold) in text and stands_in(text, gold)]


def _plain_text(text: str) -> str:
    """A text without marks of form, as replies and gold texts are compared."""
    return _LETTERED.sub(r"\1.", _DASH.sub("", _GROUPED.sub("", fold(text)).translate(_MARKS)))


def _questions(text: str) -> int:
    """Number of questions with the options A to D in a text."""
    return "".join(_OPTION.findall(text)).count("ABCD")


def _others(reply: str, golds: Sequence[str]) -> int:
    """Number of other texts of the kind of the gold ones in a reply; 0 if these are neither numbers nor questions."""
    if all(_CODE.fullmatch(gold) for gold in golds):
        sizes = {len(gold) for gold in golds}
        named = set(_CODE.findall(reply))
        return len({number for number in named.difference(golds) if len(number) in sizes})
    if all(map(_questions, golds)):
        text = caseless(reply)
        return max(0, _questions(reply) - sum(text.count(caseless(gold)) * _questions(gold) for gold in golds))
    return 0


def _all(reply: str, golds: Sequence[str], row: ScoringRow) -> float:
    """The share of gold texts among all of them and the others named."""
    return _share(len(_contained(reply, golds)), _others(reply, golds), len(golds), len(golds))


def _share(right: int, others: int, golds: int, wanted: int) -> float:
    """The share of gold texts among those wanted and the others named; 0 if the others are more than the gold texts."""
    return 0.0 if others > golds else right / (max(right, wanted) + others)


def _any(reply: str, golds: Sequence[str], row: ScoringRow) -> float:
    """The share of gold texts among the numbers or names of their kind in an answer; of others whether it has one."""
    if all(_CODE.fullmatch(gold) for gold in golds):
        return _share(len(_contained(reply, golds)), _others(reply, golds), len(golds), 1)
    marked, known = list(_ANSWER.finditer(reply)), row.extra.get(OTHERS)
    paragraphs = _own_words(reply[marked[-1].end() :] if marked else reply)
    longest = _LONG if marked or known is not None else _SHORT
    answer = "\n\n".join(paragraphs)
    if len(answer) > longest and paragraphs:
        answer = paragraphs[0 if marked else -1]
    if len(answer) > longest:
        return 0.0
    others = _contained(answer, sorted(_names(known).difference(golds)))
    return _share(min(1, len(_contained(answer, golds))), len(others), len(golds), 1)


def _own_words(reply: str) -> list[str]:
    """The paragraphs of a reply without those that copy a document from its heading on."""
    kept = (_HEAD.split(paragraph, maxsplit=1)[0].strip() for paragraph in _PARAGRAPHS.split(reply))
    return [paragraph for paragraph in kept if paragraph]


def _names(known: object) -> set[str]:
    return {_plain_text(name) for name in json.loads(known)} if isinstance(known, str) else set()


def _at_the_end(reply: str, golds: Sequence[str], row: ScoringRow) -> float:
    """Whether a gold text is in a reply and none of its kind follows."""
    right = _contained(reply, golds)
    last = max((_end(reply, gold) for gold in right), default=0)
    return float(bool(right) and not _others(reply[last:], golds))


def _end(text: str, gold: str) -> int:
    """Where the last occurrence of a text ends, whatever its case and white space; 0 if it has another form."""
    pattern = re.compile(r"\s+".join(map(re.escape, gold.split())), re.IGNORECASE)
    return max((match.end() for match in pattern.finditer(text)), default=0)


def _strict(value: Callable[[str, Sequence[str], ScoringRow], float]) -> Corrected:
    def compute(reply: str, gold: Any, row: ScoringRow) -> Answer | None:
        golds, text = texts([_plain_text(each) for each in texts(gold)]), _plain_text(reply)
        if not golds:
            return None
        return value(text, golds, row), bool(reply.strip()), ", ".join(_contained(text, golds)) or None

    return compute


def _boxed(reply: str) -> str | None:
    """What the last ``\\boxed{}`` holds, with braces in pairs."""
    start, depth = reply.rfind("\\boxed"), 0
    for at in range(start, len(reply)) if start >= 0 else ():
        depth += {"{": 1, "}": -1}.get(reply[at], 0)
        if reply[at] == "}" and depth == 0:
            return reply[start + len(_BOXED) : at] if reply.startswith(_BOXED, start) else None
    return None


def _letter(reply: str) -> str | None:
    stated = _FINAL.findall(reply)
    answer = stated[-1] if stated else _boxed(reply)
    if answer is not None:
        answer = answer.translate(_OTHER_SCRIPTS).strip()
        if len(answer) == 1:
            return answer.upper()
        if letters := _LAST_LETTER.findall(answer):
            return str(letters[-1])
    labelled = _LABELLED.findall(reply)
    return labelled[-1].upper() if labelled else None


def _official_letter(reply: Any, gold: Any, row: ScoringRow) -> Answer:
    letter, golds = _letter(reply), _golds(gold)
    return letter is not None and letter in [text.strip().upper() for text in golds[:1]], letter is not None, letter


def _strict_letter(reply: str, gold: Any, row: ScoringRow) -> Answer | None:
    golds = [text.upper() for text in texts(gold)]
    letter = choice_letter(reply)
    return (letter in golds, letter is not None, letter) if golds else None


METRICS = (
    *(
        metric("ruler2", f"ruler2_{name}", _official(clean, join), _strict(value), description)
        for name, clean, join, value, description in (
            ("all", str, _mean, _all, "mean over gold texts of containment or 1 - word error rate"),
            (
                "part",
                lambda reply: _BLOCK.sub("", reply),
                max,
                _any,
                "the largest of these, without repeated documents",
            ),
            (
                "2steps",
                lambda reply: reply.split("\n\n")[-1],
                _mean,
                _at_the_end,
                "the mean over the last paragraph of the reply",
            ),
        )
    ),
    metric("ruler2", "ruler2_mcq_letter", _official_letter, _strict_letter, "is the letter the gold one"),
)
ALL, PART, LAST, LETTER = (each.full_name for each in METRICS)
METRIC_OF: Mapping[str, str] = MappingProxyType(
    {
        "mk_niah_basic": ALL,
        "mk_niah_easy": ALL,
        "mk_niah_medium": LETTER,
        "mk_niah_hard": LETTER,
        "mv_niah_basic": ALL,
        "mv_niah_easy": ALL,
        "mv_niah_medium": LAST,
        "mv_niah_hard": ALL,
        "qa_basic": PART,
        "qa_easy": PART,
        "qa_medium": PART,
        "qa_hard": PART,
    }
)
"""The metric of each task, as its publisher's configuration says."""
