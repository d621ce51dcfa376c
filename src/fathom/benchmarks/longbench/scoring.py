"""Metrics of LongBench v1, and of MiniLongBench, whose scorer is almost the same.

``official`` equals the released code (module ``official``). ``strict`` ignores thoughts, uses the first line on
LongBench's four data sets with solved examples in both benchmarks, and corrects known faults:

* a class within the name of a longer one does not count, and case is ignored;
* the count or passage of a reply is extracted as elsewhere in fathom, instead of its share of all numbers;
* punctuation of any script is removed from words;
* ROUGE-L has no length limit. MiniLongBench's published scores were not made with its own scorer; ``strict`` is the
  plain F1 of the longest common subsequence of all words, which matches most of them;
* a line of code may have a comment, surrounding white space is ignored, and nothing is rounded.

The released code compares lines of code in one of two ways, depending on what is installed. ``code_sim`` is the one
with python-Levenshtein, as in MiniLongBench's published scores; ``code_sim_difflib`` is the one without it, as in
LongBench's. ROUGE-L has three ways: ``rouge`` fails where Python's recursion limit stops its package,
``rouge_unlimited`` is the package without that limit, and ``rouge_lcs`` the plain F1 mentioned above.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import TypeAlias

from fathom.benchmarks.longbench.official import COMPARE, FIRST_LINE, released, spaced
from fathom.score.answers import count_number, passage_number
from fathom.score.chinese import cut_words
from fathom.score.dialects import without_reasoning
from fathom.score.registry import Metric, Scorer, ScoringRow, unscored
from fathom.score.rouge import rouge_l
from fathom.score.text import common_length, fold, similarity, token_f1
from fathom.types import Score

# The extracted answer of a reply, or None; and its value against the gold answers, or why it is unknown.
_Read: TypeAlias = Callable[[str, ScoringRow], str | None]
_Score: TypeAlias = Callable[[str, Sequence[str], ScoringRow], float | str]

_FENCED = re.compile(
    r"^[ \t]*```(?:[ \t]*\w[^\n]*\n(?P<named>.*?)(?:^[ \t]*```|\Z)|[ \t]*\n(?P<closed>.*?)^[ \t]*```)",
    re.MULTILINE | re.DOTALL,
)
_COMMENT = re.compile(r"[ \t]*(?://|/\*|```|#(?!(?:include|define|undef|if|el|end|region|pragma)))")


def _mended(read: _Read, value: _Score) -> Scorer:
    """The strict scorer: extracts the answer by ``read``, thoughts ignored, and compares it with all gold ones."""

    def score(row: ScoringRow) -> Score:
        if not isinstance(row.prediction, str):
            return unscored("strict")
        entries = row.answers if isinstance(row.answers, list) else [row.answers]
        gold = [str(entry) for entry in entries if isinstance(entry, str | int | float) and not isinstance(entry, bool)]
        if not gold:
            return unscored("strict", "no gold answer: expected a text, or a list of texts")
        text = without_reasoning(row.prediction)
        answer = read(_first_line(text) if row.dataset in FIRST_LINE else text, row)
        worth = value(answer or "", gold, row)
        if isinstance(worth, str):
            return unscored("strict", worth)
        return Score(worth if answer else 0.0, answer is not None, answer, "strict")

    return score


def _first_line(text: str) -> str:
    """The first line that is not an announcement ("Here it is:")."""
    lines = [line for line in map(str.strip, text.split("\n")) if line]
    while len(lines) > 1 and lines[0][-1] in ":：":
        lines.pop(0)
    return lines[0] if lines else ""


def _whole(text: str, row: ScoringRow) -> str | None:
    return text.strip() or None


# --------------------------------------------------------------------------------------- words and summaries


def _f1(language: str) -> _Score:
    return lambda answer, gold, row: token_f1(answer, gold, language)


def _rouge(summary: str, gold: Sequence[str], row: ScoringRow) -> float:
    return max(rouge_l(summary.strip(), answer.strip()) or 0.0 for answer in gold)


def _rouge_zh(summary: str, gold: Sequence[str], row: ScoringRow) -> float:
    return _rouge(spaced(summary), list(map(spaced, gold)), row)


def _plain_rouge(words: Callable[[str], list[str]]) -> _Score:
    def score(summary: str, gold: Sequence[str], row: ScoringRow) -> float:
        mine = words(summary)
        pairs = [(mine, other) for other in map(words, gold) if other]
        return max((2 * common_length(*pair) / sum(map(len, pair)) for pair in pairs), default=0.0)

    return score


def _words_zh(text: str) -> list[str]:
    return list(filter(str.strip, cut_words(text)))


# ---------------------------------------------------------------------------------------------- one answer


def _classes(text: str, names: Sequence[object]) -> list[str]:
    """Folded names of classes in a text, each once, without those within a longer one."""
    ordered = sorted({_folded(name) for name in names if isinstance(name, str) and name}, key=len, reverse=True)
    if not ordered:
        return []
    either = "|".join(map(re.escape, ordered))
    # Chinese names are not surrounded by spaces.
    named = re.findall(rf"(?<![a-z0-9])(?:{either})(?![a-z0-9])", _folded(text))
    return list(dict.fromkeys(named))


def _folded(text: str) -> str:
    return fold(text).lower()


def _named_in(text: str, row: ScoringRow) -> str | None:
    names = row.all_classes if isinstance(row.all_classes, list) else []
    return text.strip() if _classes(text, names) else None


def _share_of_class(reply: str, gold: Sequence[str], row: ScoringRow) -> float | str:
    if not isinstance(row.all_classes, list):
        return "the row has no list of classes: all_classes"
    named = _classes(reply, row.all_classes)
    return 1.0 / len(named) if any(_folded(answer) in named for answer in gold) else 0.0


def _number(read: Callable[[str], str | None]) -> tuple[_Read, _Score]:
    """Extracts one number with ``read``, from the reply and from the gold answers."""

    def equal(answer: str, gold: Sequence[str], row: ScoringRow) -> float | str:
        numbers = [number for number in map(read, gold) if number is not None]
        return float(answer in numbers) if numbers else "the gold answer has no number"

    return lambda text, row: read(text), equal


# ---------------------------------------------------------------------------------------------------- code


def _line_of_code(text: str, row: ScoringRow) -> str | None:
    """The first line that is neither blank nor a comment, in a fenced block if the reply begins with one."""
    block = _FENCED.search(text)
    before = text[: block.start()].strip() if block else ""
    # A fence after lines of code closes them, although it looks like the start of a block.
    opens = "\n" not in before and before[-1:] in ("", ":", "：")
    code = (block["named"] or block["closed"] or "") if block and opens else text
    lines = (line.strip().strip("`").strip() for line in code.split("\n") if not _COMMENT.match(line))
    return next(filter(None, lines), None)


def _alike(ratio: Callable[[str, str], float]) -> _Score:
    return lambda line, gold, row: max(ratio(line, answer.strip()) for answer in gold)


def _difflib(first: str, second: str) -> float:
    return SequenceMatcher(None, first, second, autojunk=False).ratio()


_STRICT: Mapping[str, tuple[_Read, _Score]] = {
    "qa_f1": (_whole, _f1("en")),
    "qa_f1_zh": (_whole, _f1("zh")),
    "rouge": (_whole, _rouge),
    "rouge_zh": (_whole, _rouge_zh),
    "classification": (_named_in, _share_of_class),
    "count": _number(count_number),
    "retrieval": _number(passage_number),
    "retrieval_zh": _number(passage_number),
    "rouge_unlimited": (_whole, _rouge),
    "rouge_zh_unlimited": (_whole, _rouge_zh),
    "rouge_lcs": (_whole, _plain_rouge(str.split)),
    "rouge_zh_lcs": (_whole, _plain_rouge(_words_zh)),
    "code_sim": (_line_of_code, _alike(similarity)),
    "code_sim_difflib": (_line_of_code, _alike(_difflib)),
}
_STRICT_MINI = {
    **_STRICT,
    "rouge": _STRICT["rouge_lcs"],
    "rouge_zh": _STRICT["rouge_zh_lcs"],
}
_DESCRIPTIONS = {
    "qa_f1": "overlap of words with the nearest gold answer (question answering)",
    "qa_f1_zh": "overlap of words with the nearest gold answer (Chinese question answering)",
    "rouge": "ROUGE-L with the nearest gold summary",
    "rouge_zh": "ROUGE-L with the nearest gold summary (Chinese)",
    "rouge_unlimited": "ROUGE-L with the nearest gold summary, of any length",
    "rouge_zh_unlimited": "ROUGE-L with the nearest gold summary, of any length (Chinese)",
    "rouge_lcs": "words in the same order as in the nearest gold summary (most of MiniLongBench's published scores)",
    "rouge_zh_lcs": "words in the same order as in the nearest gold summary (Chinese)",
    "classification": "is the gold class named, and how many others (trec, lsht)",
    "count": "is the number of different passages the gold one",
    "retrieval": "is the passage named the gold one",
    "retrieval_zh": "is the passage named the gold one (Chinese)",
    "code_sim": "likeness of the next line of code (as python-Levenshtein says it)",
    "code_sim_difflib": "likeness of the next line of code (as difflib says it: LongBench's published scores)",
}


def _metrics(
    suite: str, strict: Mapping[str, tuple[_Read, _Score]], first_line: bool, alias: str = ""
) -> tuple[Metric, ...]:
    return tuple(
        Metric.of(
            suite,
            name,
            released(compare, first_line),
            _mended(*strict[name]),
            _DESCRIPTIONS[name],
            alias,
        )
        for name, compare in COMPARE.items()
    )


METRICS = (
    *_metrics("longbench_v1", _STRICT, first_line=True),
    *_metrics("mini", _STRICT_MINI, first_line=False, alias="minilongbench"),
)
