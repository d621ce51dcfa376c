"""How a judge's reply about AA-LCR or CorpusQA is read, and how these and LongCodeQA find an answer.

AA-LCR's publisher asks a judge for CORRECT or INCORRECT and has released no reader of its reply. OpenCompass takes the
word anywhere, INCORRECT before CORRECT; NVIDIA's NeMo Gym takes the reply as a whole, and every other reply as wrong.
CorpusQA takes ``[[YES]]`` without ``[[NO]]``; the answer that it judges is the rest of the line after "The answer is:",
so that an answer of several lines is cut. LongCodeQA takes the letter after the first "Final Answer:", else one at the
very end.

``strict`` ignores thoughts and takes the last verdict, which must be separate; a reply without one has no score, as a
failed judgement is not a wrong answer.
"""

import re
from collections.abc import Callable
from typing import Any

from fathom.score.answers import choice_letter
from fathom.score.registry import ScoringRow
from fathom.score.released import Answer, Corrected, Released, metric, one_gold, texts

_WORDS = re.compile(r"\b(IN)?CORRECT\b", re.IGNORECASE)
_MARKS = re.compile(r"\[\[(YES|NO)\]\]", re.IGNORECASE)
_ANSWER = re.compile(r"The answer is: (.*)")
_LAST_ANSWER = re.compile(r"The answer is:\s*(.*)", re.IGNORECASE | re.DOTALL)
_LETTER = re.compile(r"Final Answer:\s*([ABCD])", re.IGNORECASE)
_LAST_LETTER = re.compile(r"\b([ABCD])\s*$", re.IGNORECASE)


def verdict(reply: str) -> bool | None:
    """The last of the words CORRECT and INCORRECT in a judge's reply; None without one."""
    words = _WORDS.findall(reply)
    return not words[-1] if words else None


def _marked(reply: str) -> bool | None:
    marks = _MARKS.findall(reply)
    return marks[-1].upper() == "YES" if marks else None


def _opencompass(reply: Any, gold: Any, row: ScoringRow) -> Answer:
    words = [bool(wrong) for wrong in _WORDS.findall(reply.strip())]
    judgement = "UNKNOWN" if not words else "INCORRECT" if any(words) else "CORRECT"
    return judgement == "CORRECT", bool(words), judgement


def _nvidia(reply: Any, gold: Any, row: ScoringRow) -> Answer:
    word = reply.strip()
    if not word:
        raise RuntimeError("empty judge response")
    return word == "CORRECT", word in ("CORRECT", "INCORRECT"), word


def _orm(reply: Any, gold: Any, row: ScoringRow) -> Answer:
    return "[[YES]]" in reply and "[[NO]]" not in reply, "[[YES]]" in reply or "[[NO]]" in reply, None


def _judged(read: Callable[[str], bool | None]) -> Corrected:
    def compute(reply: str, gold: Any, row: ScoringRow) -> Answer:
        right = read(reply)
        return right, right is not None, None if right is None else str(right)

    return compute


def split_answer(reply: Any) -> list[str]:
    """A gold answer of several parts, which semicolons separate."""
    return [part.strip() for part in reply.split(";") if part.strip()]


def stated_answer(reply: Any) -> str:
    """The answer in a reply of CorpusQA, as the released code finds it."""
    match = _ANSWER.search(reply)
    return str(match[1] if match else reply).strip()


def _equals(read: Callable[[Any], Any]) -> Released:
    def compute(reply: Any, gold: Any, row: ScoringRow) -> Answer:
        answer = read(reply)
        return answer == gold, bool(answer), str(answer)

    return compute


def _strict_split(reply: str, gold: Any, row: ScoringRow) -> Answer | None:
    parts = texts(re.split(r"[;；\n]", reply))
    return (parts == texts(gold), bool(parts), "; ".join(parts)) if texts(gold) else None


def _strict_stated(reply: str, gold: Any, row: ScoringRow) -> Answer | None:
    answers = _LAST_ANSWER.findall(reply)
    answer = " ".join((answers[-1] if answers else reply).split()).strip(" .*")
    golds = [" ".join(text.split()).strip(" .*").casefold() for text in texts(gold)]
    return (answer.casefold() in golds, bool(answer), answer) if golds else None


def _letter(reply: Any, gold: Any, row: ScoringRow) -> Answer:
    match = _LETTER.search(reply) or _LAST_LETTER.search(reply.strip())
    letter = match[1].upper() if match else None
    return letter is not None and letter == one_gold(gold), letter is not None, letter


def _strict_letter(reply: str, gold: Any, row: ScoringRow) -> Answer | None:
    letter = choice_letter(reply)
    return (letter in texts(gold), letter is not None, letter) if texts(gold) else None


METRICS = tuple(
    metric("judged", name, official, strict, description)
    for name, official, strict, description in (
        (
            "aa_lcr_judgement_opencompass",
            _opencompass,
            _judged(verdict),
            "the verdict of a judge of AA-LCR, as OpenCompass reads it",
        ),
        ("aa_lcr_judgement_nvidia_gym", _nvidia, _judged(verdict), "the same, as NVIDIA's NeMo Gym reads it"),
        (
            "aa_lcr_answer_split_opencompass",
            _equals(split_answer),
            _strict_split,
            "the parts of a gold answer of AA-LCR",
        ),
        ("corpusqa_extract_answer", _equals(stated_answer), _strict_stated, "the answer that CorpusQA's judge gets"),
        ("corpusqa_orm", _orm, _judged(_marked), "the verdict of CorpusQA's judge"),
        ("longcodeqa_letter", _letter, _strict_letter, "the letter of a reply of LongCodeQA"),
    )
)
