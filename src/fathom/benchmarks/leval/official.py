"""The ``official`` rules of L-Eval's closed tasks, exactly as in the released code.

They equal ``auto_eval.py`` and ``em.py`` of the paper's repository: first the processing of each task, then one
comparison for all of them. Faults: a reply without a choice counts as A, capital letters of words count as choices, a
sum loses its decimals, a part of a number or of a name counts as an output, letters within a gold answer of only A to D
give a quarter (also for an empty reply), and a reply without ``[fact:`` raises an exception, as does an empty gold
answer.
"""

import re
import string
from collections.abc import Callable

from fathom.score.registry import Scorer, ScoringRow, crash
from fathom.types import Score

ERROR = "<error>"
CHOICES = frozenset("ABCD")
SEVERAL_CHOICES = "coursera"
"""The data set whose questions may have more than one correct choice."""

_PARTLY = 0.25  # for letters of the gold choices only
_MARKS = frozenset(string.punctuation)
_TO_NOTHING = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_CAPITAL = re.compile(r"[A-Z](?=[\s.)])")
_ANNOUNCED = re.compile(r"The answer is (\S+)")
# Deleted from an output, in this order, also within words: "this" becomes "th".
_DELETED_FROM_ALL = (",", "'", "\\", ".0")
_DELETED_FROM_REPLIES = ("will be", "of the code", "is", "would be", "the value of", "the result of", "printed")
_JOINED = (("] [", "]["), ("[ [", "[["), ("] ]", "]]"))
_CUE = "the final output"
_MORE = 3  # number of words kept beyond those of the gold output
_FACT = "[fact:"


def scorer(judge: Callable[[object, object, str], Score]) -> Scorer:
    """The scorer that passes a reply, the gold answer and the name of the data set to ``judge``.

    Args:
        judge: Raises the exceptions of the released code, which looks at the gold answer first.
    """

    def score(row: ScoringRow) -> Score:
        gold = row.answers[0] if isinstance(row.answers, list) and len(row.answers) == 1 else row.answers
        try:
            return judge(row.prediction, gold, row.dataset)
        except (AttributeError, IndexError, TypeError) as error:
            return crash(type(error).__name__, str(error))

    return score


def _text(value: object, error: type[Exception]) -> str:
    if not isinstance(value, str):
        raise error("the released code cannot process a non-string")
    return value


def choice(reply: object, gold: object, dataset: str) -> Score:
    """Choices from A to D: the letters of the gold answer's first word, and those found in the reply.

    Raises:
        IndexError: The gold answer has no word, at which the official code fails too.
    """
    words = _text(gold, AttributeError).split()
    if not words:
        raise IndexError("the gold answer has no word")
    right = "".join(letter for letter in words[0] if letter in CHOICES) or "A"
    text = _text(reply, AttributeError)
    letters = _choices(text, several=SEVERAL_CHOICES in dataset)
    return Score(equality(letters, right), not CHOICES.isdisjoint(text), letters, "official")


def _choices(text: str, several: bool) -> str:
    if not text.strip():
        return "None"
    if text in "ABCD":
        return text
    if not several:
        return next((letter for letter in text if letter in CHOICES), "A")
    rest = text.lstrip("ABCD")
    start = text[: len(text) - len(rest)]
    if len(start) > 1:
        return "".join(sorted(set(start)))
    before = rest.split("Question")[0]
    letters = set(start) | (CHOICES & set(_CAPITAL.findall(before)))
    if letters:
        return "".join(sorted(letters))
    # The first run of such letters as written, in any order.
    run = re.search("[A-D]+", before)
    return run[0] if run else "A"


def math(reply: object, gold: object, _: str) -> Score:
    """Sums: the digits before the decimal point of the word after the cue, else of the first part's last number."""
    right, number = _sum(_text(gold, TypeError)), _sum(_text(reply, TypeError))
    return Score(equality(number, right), bool(number), number or None, "official")


def _sum(text: str) -> str:
    if announced := _ANNOUNCED.search(text):
        word = announced[1]
    else:
        words = reversed(text.split("\n\n")[0].split(" "))
        word = next((piece for piece in words if any(map(str.isdigit, piece))), "")
    return "".join(filter(str.isdigit, word.split(".")[0]))


def code(reply: object, gold: object, _: str) -> Score:
    """Outputs of programs: the words after the last cue, else the last ones of the reply."""
    right, text = _text(gold, TypeError), _cleaned(_text(reply, TypeError))
    kept = len(right.split()) + _MORE
    for deleted in _DELETED_FROM_REPLIES:
        text = text.replace(deleted, "")
    cued = _CUE in text
    words = re.split(r"\s+", text.split(_CUE)[-1] if cued else text)
    output = " ".join(words[:kept] if cued else words[-kept:])
    return Score(equality(output, _cleaned(right)), bool(output.strip()), output.strip() or None, "official")


def _cleaned(text: str) -> str:
    text = re.sub(r"\s+", " ", text)
    for deleted in _DELETED_FROM_ALL:
        text = text.replace(deleted, "")
    for apart, together in _JOINED:
        text = text.replace(apart, together)
    return text


def topic(reply: object, gold: object, _: str) -> Score:
    """Topics: whether the gold answer occurs in the reply."""
    text = _text(reply, TypeError)
    if isinstance(gold, list | dict) and all(isinstance(letter, str) for letter in gold):
        # Joined before it fails as a non-string, which it does not if only choices are left.
        gold = "".join(letter for letter in gold if letter not in _MARKS)
        if not set(_without_articles(gold)) <= CHOICES:
            raise (TypeError if _is_number(text) else AttributeError)("the gold answer is not a string")
    right = _text(gold, TypeError)
    return Score(equality(text, right), bool(text.strip()), text.strip() or None, "official")


def truths(reply: object, gold: object, _: str) -> Score:
    """What a story says, and what is true: the mean of both."""
    right = _halves(_text(gold, AttributeError))
    halves = [_truth(half) for half in _halves(_text(reply, AttributeError))]
    value = sum(map(equality, halves, right)) / len(right)
    return Score(value, ERROR not in halves, " ".join(halves), "official")


def _halves(text: str) -> tuple[str, str]:
    parts = text.lower().split(_FACT)
    if len(parts) == 1:
        raise IndexError("the text has no part [fact: ...]")
    # Known fault: the last character is always dropped as the closing bracket.
    return parts[0].strip(), parts[1][:-1].strip()


def _truth(text: str) -> str:
    for word in text.split():
        # In a word with both, true is checked first.
        for truth in ("true", "false"):
            if truth in word:
                return truth
    return ERROR


def equality(answer: str, right: str) -> float:
    """The comparison of ``em.py``: choices if the gold text has only letters from A to D, else numbers, or whether the
    gold text occurs in the other without spaces.
    """
    letters, gold_letters = _without_articles(answer), _without_articles(right)
    if set(gold_letters) <= CHOICES:
        return 1.0 if letters == gold_letters else _PARTLY * (set(letters) <= set(gold_letters))
    try:
        return float(float(answer) == float(right))
    except ValueError:
        answer, right = (text.lower().replace(" ", "") for text in (answer, right))
        return float(right in answer)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _without_articles(text: str) -> str:
    return " ".join(_ARTICLE.sub(" ", text.translate(_TO_NOTHING)).split())
