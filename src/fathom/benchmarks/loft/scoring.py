"""Metrics of LOFT: identifiers, answers, sets of answers and rows of tables in the list at the end of a reply.

The released code takes the first line with brackets, whatever it is, so that a citation or a thought with brackets
becomes the answer. Its ``subspan_em`` of several answers matches either way: fragments ("Par"), and an article, which
normalises to nothing, match. ``sql_exec_acc`` compares rows as sets and ignores how often each occurs.

``strict`` ignores thoughts, takes the last line with "Final Answer" (else the last that begins with "Output:", else the
last with a list), matches a gold answer in a predicted one only, each predicted one for one gold answer, counts rows,
and reads a quoted "14,200" as a number.
"""

import ast
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias

from fathom.score.registry import ScoringRow
from fathom.score.released import Answer, Corrected, Released, RowError, metric
from fathom.score.text import bag_f1

_QUOTED = re.compile(r"([a-zA-Z0-9])'([a-zA-Z0-9])")
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PREFIX = "final answer"
_OUTPUT = ("output:", "output：")
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
Read: TypeAlias = Callable[[Any], list[str]]
Grade: TypeAlias = Callable[[Sequence[Any], Sequence[Any]], "float | None"]
"""The score of predicted answers against gold ones."""


def _list_in(line: str) -> Any:
    """The list in a line, from its first to its last bracket; an empty one if it is none."""
    text = line[line.find("[") : line.rfind("]") + 1].strip()
    try:
        return ast.literal_eval(_QUOTED.sub(r"\1\'\2", text))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return []


def _lists(reply: str) -> list[str]:
    lines = reply.replace("*", "").replace("`", "").strip().split("\n")
    return [line for line in lines if "[" in line and "]" in line]


def extracted(reply: str) -> Any:
    """The list of a reply, as the released code finds it."""
    lines = _lists(reply)
    return _list_in(lines[0]) if lines else []


def last_list(reply: str) -> list[Any] | None:
    """The list of the last line that announces a final answer, else an output, else of the last line with a list."""
    lines = _lists(reply)
    named = [line for line in lines if _PREFIX in line.lower()]
    named = named or [line for line in lines if line.strip().lower().startswith(_OUTPUT)] or lines
    value = _list_in(named[-1]) if named else None
    return list(value) if isinstance(value, list | tuple) else None


def normal(text: str) -> str:
    """A text without case, punctuation and articles, with accents apart from their letters."""
    kept = "".join(letter for letter in unicodedata.normalize("NFD", text).lower() if letter not in string.punctuation)
    return " ".join(_ARTICLES.sub(" ", kept).split())


# ------------------------------------------------------------------------------------------------------------- answers


def _ids(gold: Any) -> list[str]:
    """The names of gold passages, which stand in pairs with a number.

    Raises:
        ValueError: A pair is something else.
    """
    for pair in gold:
        if not isinstance(pair[0], str) or not isinstance(pair[1], int):
            raise ValueError("Gold answer must be a list consisting of a str and an int.")
    return [pair[0].strip() for pair in gold]


def _recall(golds: Sequence[str], named: Sequence[str], top: int, *, capped: bool) -> float:
    matches = len(set(named[:top]).intersection(golds))
    return matches / (min(top, len(golds)) if capped else len(golds)) if named else 0.0


def _all_found(golds: Sequence[str], named: Sequence[str], top: int) -> float:
    return float(bool(named) and len(set(named[:top]).intersection(golds)) == min(top, len(golds)))


def _equal(golds: Sequence[str], named: Sequence[str]) -> float:
    return max(float(gold == named[0]) for gold in golds) if named else 0.0


def _within(golds: Sequence[str], named: Sequence[str]) -> float:
    return max(float(gold in named[0]) for gold in golds) if named else 0.0


def _words_shared(golds: Sequence[str], named: Sequence[str]) -> float:
    return max(bag_f1(normal(named[0]).split(), normal(gold).split()) for gold in golds) if named else 0.0


def _same_set(golds: Sequence[str], named: Sequence[str]) -> float:
    return float(bool(named) and set(golds) == set(named))


def _covered(golds: Sequence[str], named: Sequence[str]) -> float | None:
    # Known fault: the released code leaves this metric out for an empty list.
    return len(set(named).intersection(golds)) / len(golds) if named else None


def assigned(golds: Sequence[str], named: Sequence[str], matches: Callable[[str, str], bool]) -> bool:
    """Whether every gold answer has a predicted one of its own that matches it."""
    holder: dict[int, int] = {}

    def place(gold: int, tried: set[int]) -> bool:
        for number, text in enumerate(named):
            if number not in tried and matches(golds[gold], text):
                tried.add(number)
                if number not in holder or place(holder[number], tried):
                    holder[number] = gold
                    return True
        return False

    return all(place(gold, set()) for gold in range(len(golds)))


def _fragments(golds: Sequence[str], named: Sequence[str]) -> float:
    return float(bool(named) and assigned(golds, named, lambda gold, text: gold in text or text in gold))


def _contained(golds: Sequence[str], named: Sequence[str]) -> float:
    return float(bool(named) and assigned(golds, named, lambda gold, text: f" {gold} " in f" {text} "))


def _strict_within(golds: Sequence[str], named: Sequence[str]) -> float:
    return float(bool(named) and any(f" {gold} " in f" {named[0]} " for gold in golds if gold))


# ---------------------------------------------------------------------------------------------------------------- rows


def _cell(value: Any) -> str:
    with suppress(TypeError, ValueError, OverflowError):
        value = f"{float(value):.2f}"
    return str(value).strip().lower()


def _rows(answers: Any) -> list[list[str]]:
    return [[text for value in row if (text := _cell(value))] for row in answers]


def _ungrouped(value: Any) -> Any:
    """A cell whose digits are not in groups."""
    return value.replace(",", "") if isinstance(value, str) and _GROUPED.fullmatch(value.strip()) else value


def _sql(reply: Any, gold: Any, row: ScoringRow) -> Answer:
    golds, given = _rows(gold), extracted(reply)
    golds[0]  # the released code looks at the first row
    if given and not isinstance(given[0], list):
        given = [given]
    rows = _rows(given)
    wanted = [set(gold_row) for gold_row in golds]
    right = len(rows) == len(golds) and all(set(cells) in wanted for cells in rows)
    return right, bool(given), str(given)


def _strict_sql(reply: str, gold: Any, row: ScoringRow) -> Answer | None:
    if not isinstance(gold, list) or not gold:
        return None
    if not all(isinstance(cells, list | tuple) for cells in gold):
        raise RowError("the gold answer is no list of rows")
    given = last_list(reply)
    if given and not all(isinstance(cells, list | tuple) for cells in given):
        given = [given]
    rows, golds = (
        Counter(tuple(cells) for cells in _rows([map(_ungrouped, row) for row in table or []]))
        for table in (given, gold)
    )
    return rows == golds, given is not None, str(given)


# ------------------------------------------------------------------------------------------------------------- metrics


def _names(values: Any) -> list[str]:
    return [str(value).strip() for value in values]


def _texts(values: Any) -> list[str]:
    return [normal(str(value)) for value in values]


def _normalised(values: Any) -> list[str]:
    return [normal(value) for value in values]


def _of_any(read: Read) -> Read:
    """The same reader, of answers that need not be texts."""
    return _texts if read is _normalised else read


def _official(read_gold: Read, read: Read, grade: Grade) -> Released:
    def compute(reply: Any, gold: Any, row: ScoringRow) -> Answer:
        golds, given = read_gold(gold), extracted(reply)
        value = grade(golds, read(given))
        return value, bool(given), str(given)

    return compute


def _strict(read_gold: Read, read: Read, grade: Grade) -> Corrected:
    def compute(reply: str, gold: Any, row: ScoringRow) -> Answer | None:
        if not isinstance(gold, list) or not gold:
            return None
        given = last_list(reply)
        return grade(_checked(read_gold, gold), read(given or [])) or 0.0, given is not None, str(given)

    return compute


def _checked(read_gold: Read, gold: list[Any]) -> list[str]:
    """Gold answers of the form that a metric reads.

    Raises:
        RowError: They have another form.
    """
    try:
        answers = gold[0] if read_gold is _turn else gold
        if read_gold is not _ids and not (isinstance(answers, list) and all(isinstance(each, str) for each in answers)):
            raise RowError("the gold answers are no list of texts")
        golds = read_gold(gold)
    except (ValueError, TypeError, LookupError) as error:
        raise RowError(str(error)) from None
    if not golds:
        raise RowError("there is no gold answer in the list")
    return golds


def _turn(gold: Any) -> list[str]:
    """The gold answers of a turn; records have one list for each turn."""
    return _normalised(gold[0])


_RETRIEVAL: tuple[tuple[str, Read, Read, Grade, Grade, str], ...] = tuple(
    (f"retrieval_{name}", _ids, _names, grade, grade, f"{what} of the gold passages")
    for name, grade, what in (
        ("recall@1", partial(_recall, top=1, capped=False), "the share among the first identifier"),
        ("capped_recall@1", partial(_recall, top=1, capped=True), "the same, out of one"),
        *((f"mrecall@{top}", partial(_all_found, top=top), f"whether the first {top} are all") for top in (1, 2, 3, 5)),
    )
)
_ANSWERS: tuple[tuple[str, Read, Read, Grade, Grade, str], ...] = (
    ("rag_em", _normalised, _texts, _equal, _equal, "whether the first answer is a gold one"),
    ("rag_subspan_em", _normalised, _texts, _within, _strict_within, "whether it contains a gold one"),
    ("rag_f1", _normalised, _texts, _words_shared, _words_shared, "F1 of its words"),
    ("multi_value_rag_em", _normalised, _texts, _same_set, _same_set, "whether the answers are the gold ones"),
    ("multi_value_rag_coverage", _normalised, _texts, _covered, _covered, "the share of gold answers among them"),
    ("multi_value_rag_subspan_em", _normalised, _texts, _fragments, _contained, "whether each gold one has its own"),
    ("icl_em", _turn, _normalised, _equal, _equal, "whether the first answer is a gold one, after many examples"),
)
METRICS = (
    *(
        metric("loft", name, _official(golds, read, official), _strict(golds, _of_any(read), strict), description)
        for name, golds, read, official, strict, description in (*_RETRIEVAL, *_ANSWERS)
    ),
    metric("loft", "sql_exec_acc", _sql, _strict_sql, "whether the rows of a table are the gold ones"),
)
