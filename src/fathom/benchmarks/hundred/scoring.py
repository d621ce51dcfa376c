"""Metrics of 100-LongBench that need no judge.

``official`` equals ``eval_trec.py`` of the paper's repository in its "original metric" mode: the first line after
leading newlines is scored, the best gold answer counts. ``strict`` extracts the answer from the whole reply with
``fathom.score.answers``, is unaffected by ``None`` and exceptions, and scores whole summaries.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial

from fathom.score import answers
from fathom.score.registry import Metric, Scorer, ScoringRow, crash, unscored
from fathom.score.rouge import OFFICIAL_STEPS, rouge_l
from fathom.score.text import bag_f1, has_chinese, official_words
from fathom.types import Score

_DIGITS = re.compile(r"\d+")
_UUID = re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")

# ------------------------------------------------------------------------------------------------ official


def _official(similarity: Callable[[str, object], float | Score]) -> Scorer:
    """The scorer that compares the first line of a reply with each gold answer by ``similarity``."""

    def score(row: ScoringRow) -> Score:
        if not isinstance(row.prediction, str):
            return crash("AttributeError", f"the released code cannot score {_kind(row.prediction)} as a prediction")
        line = row.prediction.lstrip("\n").split("\n")[0]
        gold = row.answers if isinstance(row.answers, list) else [row.answers]
        best = 0.0
        for answer in gold if line else ():
            value = similarity(line, answer)
            if isinstance(value, Score):
                return value
            best = max(best, value)
        return Score(best, valid=bool(line), answer=line or None, grader="official")

    return score


def _same_first_number(line: str, answer: object) -> float:
    # Digits of any script match, and then differ from the gold number.
    number = _DIGITS.search(line)
    return float((number.group() if number else "") == str(answer))


def _same_last_uuid(line: str, answer: object) -> float:
    uuids = _UUID.findall(line)
    # Known fault: no UUID counts as the text "None".
    return float((uuids[-1] if uuids else "None") == str(answer))


def _qa_f1(line: str, answer: object) -> float | Score:
    if not isinstance(answer, str):
        return crash("AttributeError", f"the released code cannot score {_kind(answer)} as a gold answer")
    return bag_f1(official_words(line), official_words(answer))


def _rouge(line: str, answer: object) -> float:
    return (rouge_l(line, answer, OFFICIAL_STEPS) or 0.0) if isinstance(answer, str) else 0.0


# -------------------------------------------------------------------------------------------------- strict


def _strict(read: Callable[[str], str | None], similarity: Callable[[str, Sequence[str], str], float]) -> Scorer:
    """The scorer that extracts the answer from a whole reply and compares it with all gold answers."""

    def score(row: ScoringRow) -> Score:
        gold = _texts(row.answers)
        if not isinstance(row.prediction, str):
            return unscored("strict", f"no reply: the prediction is {_kind(row.prediction)}")
        if not gold:
            return unscored("strict", "no gold answer: expected a string, a number or a list")
        answer = read(row.prediction)
        value = 0.0 if answer is None else similarity(answer, gold, row.language)
        return Score(value, answer is not None, answer, "strict")

    return score


def _equal(read: Callable[[str], str | None]) -> Callable[[str, Sequence[str], str], float]:
    """Compares with the gold answers normalised by ``read``."""

    def similarity(reply: str, gold: Sequence[str], language: str) -> float:
        return float(any(reply == read(answer) for answer in gold))

    return similarity


def _qa_f1_strict(row: ScoringRow) -> Score:
    gold = _texts(row.answers)
    if not isinstance(row.prediction, str) or not gold:
        return _strict(answers.reply_text, _whole_rouge)(row)  # says why
    chinese = row.language.lower() in ("zh", "chinese") or any(map(has_chinese, gold))
    return answers.words_score(row.prediction, gold, "zh" if chinese else "en", first_line=True)


def _whole_rouge(summary: str, gold: Sequence[str], language: str) -> float:
    return max(rouge_l(summary, answer) or 0.0 for answer in gold)


def _texts(value: object) -> list[str]:
    entries = value if isinstance(value, list) else [value]
    return [str(entry) for entry in entries if isinstance(entry, str | int | float) and not isinstance(entry, bool)]


def _kind(value: object) -> str:
    names = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", list: "a list", str: "a string"}
    return names.get(type(value), "an object")


_metric = partial(Metric.of, "hundred", alias="100longbench")


METRICS = (
    _metric(
        "first_number",
        _official(_same_first_number),
        _strict(answers.first_number, _equal(answers.first_number)),
        "is the first number the gold number (counting, retrieval, stars)",
    ),
    _metric(
        "last_uuid",
        _official(_same_last_uuid),
        _strict(answers.given_uuid, _equal(answers.given_uuid)),
        "is the last UUID the gold UUID (key-value retrieval)",
    ),
    _metric(
        "qa_f1",
        _official(_qa_f1),
        _qa_f1_strict,
        "overlap of words with the nearest gold answer (question answering, original metric)",
    ),
    _metric(
        "rouge",
        _official(_rouge),
        _strict(answers.reply_text, _whole_rouge),
        "ROUGE-L with the nearest gold summary (summaries, original metric)",
    ),
)
