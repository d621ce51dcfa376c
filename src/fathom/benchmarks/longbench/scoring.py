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
from functools import lru_cache
from typing import TypeAlias

from fathom.benchmarks.longbench.official import COMPARE, FIRST_LINE, released, spaced
from fathom.score.answers import count_number, first_line, first_number, passage_number, reply_text, words_score
from fathom.score.chinese import cut_words
from fathom.score.dialects import without_reasoning
from fathom.score.reading import after_cues, without_rejected
from fathom.score.registry import Metric, Scorer, ScoringRow, unscored
from fathom.score.rouge import rouge_l
from fathom.score.text import common_length, fold, similarity, simplified
from fathom.score.unwrapping import readable, unwrapped
from fathom.types import Score

# The extracted answer of a reply, or None; and its value against the gold answers, or why it is unknown.
_Read: TypeAlias = Callable[[str, ScoringRow], str | None]
_Score: TypeAlias = Callable[[str, Sequence[str], ScoringRow], float | str]

_FENCED = re.compile(
    r"^[ \t]*```(?:[ \t]*\w[^\n]*\n(?P<named>.*?)(?:^[ \t]*```|\Z)|[ \t]*\n(?P<closed>.*?)^[ \t]*```)",
    re.MULTILINE | re.DOTALL,
)
# A comment, a fence, or a sentence that announces the line.
_NO_CODE = re.compile(
    r"[ \t]*(?://|/\*|```|#(?!(?:include|define|undef|if|el|end|region|pragma))"
    r"|(?:sure|certainly|of course|here|the (?:next|answer|following|correct)|step [0-9]+|therefore|so|i)[ ,!:]"
    r"[^=(){}\[\];\n]*(?<=[:.])$)",
    re.IGNORECASE | re.MULTILINE,
)


def _mended(read: _Read, value: _Score) -> Scorer:
    """The strict scorer: extracts the answer by ``read``, thoughts ignored, and compares it with all gold ones."""

    def score(row: ScoringRow) -> Score:
        gold = _gold(row)
        if isinstance(gold, Score) or not isinstance(row.prediction, str):
            return gold if isinstance(gold, Score) else unscored("strict")
        text = without_reasoning(row.prediction)
        if row.dataset in FIRST_LINE and read is not _line_of_code:
            text = first_line(unwrapped(text))
        answer = read(text, row)
        worth = value(answer or "", gold, row)
        if isinstance(worth, str):
            return unscored("strict", worth)
        return Score(worth if answer else 0.0, answer is not None, answer, "strict")

    return score


def _gold(row: ScoringRow) -> list[str] | Score:
    """The gold answers as texts, or the score of a row that has none, or no reply."""
    if not isinstance(row.prediction, str):
        return unscored("strict")
    entries = row.answers if isinstance(row.answers, list) else [row.answers]
    gold = [str(entry) for entry in entries if isinstance(entry, str | int | float) and not isinstance(entry, bool)]
    return gold or unscored("strict", "no gold answer: expected a text, or a list of texts")


def _whole(text: str, row: ScoringRow) -> str | None:
    return reply_text(text)


# --------------------------------------------------------------------------------------- words and summaries


def _words(language: str) -> Scorer:
    """The strict scorer of answers in words."""

    def score(row: ScoringRow) -> Score:
        gold = _gold(row)
        if isinstance(gold, Score):
            return gold
        return words_score(str(row.prediction), gold, language, first_line=row.dataset in FIRST_LINE)

    return score


def _rouge(summary: str, gold: Sequence[str], row: ScoringRow) -> float:
    return max(rouge_l(summary.strip(), answer.strip()) or 0.0 for answer in gold)


def _rouge_zh(summary: str, gold: Sequence[str], row: ScoringRow) -> float:
    return _rouge(spaced(simplified(summary)), [spaced(simplified(answer)) for answer in gold], row)


def _plain_rouge(words: Callable[[str], list[str]]) -> _Score:
    def score(summary: str, gold: Sequence[str], row: ScoringRow) -> float:
        mine = words(summary)
        pairs = [(mine, other) for other in map(words, gold) if other]
        return max((2 * common_length(*pair) / sum(map(len, pair)) for pair in pairs), default=0.0)

    return score


def _words_zh(text: str) -> list[str]:
    return list(filter(str.strip, cut_words(simplified(text))))


# ---------------------------------------------------------------------------------------------- one answer


@lru_cache(maxsize=64)
def _either(names: tuple[str, ...]) -> str:
    """A pattern of folded names of classes, the longest first."""
    either = "|".join(map(re.escape, sorted(set(names), key=len, reverse=True)))
    # Chinese names are not surrounded by spaces.
    return rf"(?<![a-z0-9])(?:{either})(?![a-z0-9])"


def _folded(text: str) -> str:
    return fold(simplified(text)).lower()


def _class_scorer(row: ScoringRow) -> Score:
    """1 for the class that a reply chooses; of several without a choice each has its share.

    The class after the last "the type is" or the like is used; else those of the first line, on data sets with solved
    examples, or of the whole reply. Rejected classes and names within longer ones do not count.
    """
    gold = _gold(row)
    if isinstance(gold, Score):
        return gold
    if not isinstance(row.all_classes, list):
        return unscored("strict", "the row has no list of classes: all_classes")
    names = tuple(_folded(name) for name in row.all_classes if isinstance(name, str) and name)
    text = _folded(readable(str(row.prediction)))
    text = without_rejected(text, _either(names)) if names else ""
    first = first_line(text) if row.dataset in FIRST_LINE else text
    parts = ([re.findall(_either(names), part)[:1] for part in after_cues(text)], re.findall(_either(names), first))
    named = next(filter(None, (*parts[0], list(dict.fromkeys(parts[1])))), [])
    right = any(_folded(answer) in named for answer in gold)
    reply = without_reasoning(str(row.prediction))
    shown = first_line(reply) if row.dataset in FIRST_LINE else reply.strip()
    return Score(float(right) / len(named) if named else 0.0, bool(named), shown if named else None, "strict")


def _number(read: Callable[[str], str | None]) -> tuple[_Read, _Score]:
    """Extracts one number with ``read``, from the reply and from the gold answers."""

    def equal(answer: str, gold: Sequence[str], row: ScoringRow) -> float | str:
        # A gold answer that names two numbers has its first one.
        numbers = [number for text in gold if (number := read(text) or first_number(text)) is not None]
        return float(answer in numbers) if numbers else "the gold answer has no number"

    return lambda text, row: read(text), equal


# ---------------------------------------------------------------------------------------------------- code


def _line_of_code(text: str, row: ScoringRow) -> str | None:
    """The first line that is no comment and no announcement, in a fenced block if the reply begins with one."""
    block = _FENCED.search(text) if "```" in text else None
    before = text[: block.start()].strip() if block else ""
    # A fence after lines of code closes them, although it looks like the start of a block.
    opens = ("\n" not in before and before[-1:] in ("", ":", "：")) or not _lines_of_code(before)
    code = (block["named"] or block["closed"] or "") if block and opens else text
    return next(iter(_lines_of_code(code)), None)


def _lines_of_code(text: str) -> list[str]:
    given = (line for line in filter(str.strip, text.split("\n")) if not _NO_CODE.match(line))
    return list(filter(None, (line.strip().strip("`").strip() for line in given)))


def _alike(ratio: Callable[[str, str], float]) -> _Score:
    return lambda line, gold, row: max(ratio(line, answer.strip()) for answer in gold)


def _difflib(first: str, second: str) -> float:
    return SequenceMatcher(None, first, second, autojunk=False).ratio()


_STRICT: Mapping[str, Scorer] = {
    "qa_f1": _words("en"),
    "qa_f1_zh": _words("zh"),
    "rouge": _mended(_whole, _rouge),
    "rouge_zh": _mended(_whole, _rouge_zh),
    "classification": _class_scorer,
    "count": _mended(*_number(count_number)),
    "retrieval": _mended(*_number(passage_number)),
    "retrieval_zh": _mended(*_number(passage_number)),
    "rouge_unlimited": _mended(_whole, _rouge),
    "rouge_zh_unlimited": _mended(_whole, _rouge_zh),
    "rouge_lcs": _mended(_whole, _plain_rouge(str.split)),
    "rouge_zh_lcs": _mended(_whole, _plain_rouge(_words_zh)),
    "code_sim": _mended(_line_of_code, _alike(similarity)),
    "code_sim_difflib": _mended(_line_of_code, _alike(_difflib)),
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


def _metrics(suite: str, strict: Mapping[str, Scorer], first_line: bool, alias: str = "") -> tuple[Metric, ...]:
    return tuple(
        Metric.of(
            suite,
            name,
            released(compare, first_line),
            strict[name],
            _DESCRIPTIONS[name],
            alias,
        )
        for name, compare in COMPARE.items()
    )


METRICS = (
    *_metrics("longbench_v1", _STRICT, first_line=True),
    *_metrics("mini", _STRICT_MINI, first_line=False, alias="minilongbench"),
)
