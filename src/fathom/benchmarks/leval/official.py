"""The ``official`` rules of L-Eval's closed tasks, bit for bit, also where the released code is at its worst.

They equal ``auto_eval.py`` and ``em.py`` of the paper's repository: first the processing that each task has, then one
comparison for all of them. Faults: a reply that names no choice takes A, capitals of its words are choices, a sum loses
what follows its point, a part of a number or of a name is an output, letters within a gold answer of nothing but A to D
bring a quarter (an empty reply too), and a reply without ``[fact:`` stops the code, as does an empty gold answer.
"""

import re
import string
from collections.abc import Callable

from fathom.score.registry import Scorer, ScoringRow, crash
from fathom.types import Verdict

ERROR = "<error>"
CHOICES = frozenset("ABCD")
SEVERAL_CHOICES = "coursera"
"""The data set whose questions may have more than one right choice."""

_PARTLY = 0.25  # for nothing but letters of the gold choices
_MARKS = frozenset(string.punctuation)
_TO_NOTHING = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_CAPITAL = re.compile(r"[A-Z](?=[\s.)])")
_ANNOUNCED = re.compile(r"The answer is (\S+)")
# What is deleted from an output, in this order, in words too: "this" becomes "th".
_DELETED_FROM_ALL = (",", "'", "\\", ".0")
_DELETED_FROM_REPLIES = ("will be", "of the code", "is", "would be", "the value of", "the result of", "printed")
_JOINED = (("] [", "]["), ("[ [", "[["), ("] ]", "]]"))
_CUE = "the final output"
_MORE = 3  # words of a reply that are kept beyond as many as the gold output has
_FACT = "[fact:"


def scorer(judge: Callable[[object, object, str], Verdict]) -> Scorer:
    """The scorer that gives a reply, the gold answer and the name of the data set to ``judge``.

    Args:
        judge: Raises the exceptions that the released code raises, which looks at the gold answer first.
    """

    def score(row: ScoringRow) -> Verdict:
        gold = row.answers[0] if isinstance(row.answers, list) and len(row.answers) == 1 else row.answers
        try:
            return judge(row.prediction, gold, row.dataset)
        except (AttributeError, IndexError, TypeError) as error:
            return crash(type(error).__name__, str(error))

    return score


def _text(value: object, error: type[Exception]) -> str:
    if not isinstance(value, str):
        raise error("the released code cannot process what is no text")
    return value


def choice(reply: object, gold: object, dataset: str) -> Verdict:
    """Choices from A to D: the letters of the gold answer's first word, and those found in the reply."""
    words = _text(gold, AttributeError).split()
    if not words:
        raise IndexError("the gold answer has no word")
    right = "".join(letter for letter in words[0] if letter in CHOICES) or "A"
    said = _text(reply, AttributeError)
    found = _choices(said, several=SEVERAL_CHOICES in dataset)
    return Verdict(equality(found, right), not CHOICES.isdisjoint(said), found, "official")


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
    found = set(start) | (CHOICES & set(_CAPITAL.findall(before)))
    if found:
        return "".join(sorted(found))
    # The first run of such letters as it stands, in any order.
    run = re.search("[A-D]+", before)
    return run[0] if run else "A"


def math(reply: object, gold: object, _: str) -> Verdict:
    """Sums: the digits before the point of the announced word, else of the last word of the first part with any."""
    right, found = _sum(_text(gold, TypeError)), _sum(_text(reply, TypeError))
    return Verdict(equality(found, right), bool(found), found or None, "official")


def _sum(text: str) -> str:
    if announced := _ANNOUNCED.search(text):
        word = announced[1]
    else:
        words = reversed(text.split("\n\n")[0].split(" "))
        word = next((one for one in words if any(map(str.isdigit, one))), "")
    return "".join(filter(str.isdigit, word.split(".")[0]))


def code(reply: object, gold: object, _: str) -> Verdict:
    """Outputs of programs: the words after the last cue, else the last ones of the reply."""
    right, text = _text(gold, TypeError), _cleaned(_text(reply, TypeError))
    kept = len(right.split()) + _MORE
    for deleted in _DELETED_FROM_REPLIES:
        text = text.replace(deleted, "")
    cued = _CUE in text
    words = re.split(r"\s+", text.split(_CUE)[-1] if cued else text)
    found = " ".join(words[:kept] if cued else words[-kept:])
    return Verdict(equality(found, _cleaned(right)), bool(found.strip()), found.strip() or None, "official")


def _cleaned(text: str) -> str:
    text = re.sub(r"\s+", " ", text)
    for deleted in _DELETED_FROM_ALL:
        text = text.replace(deleted, "")
    for apart, together in _JOINED:
        text = text.replace(apart, together)
    return text


def topic(reply: object, gold: object, _: str) -> Verdict:
    """Topics: the gold answer somewhere in the reply."""
    found = _text(reply, TypeError)
    if isinstance(gold, list | dict) and all(isinstance(one, str) for one in gold):
        # Joined before it proves to be no text, which it does not where nothing but choices are left.
        gold = "".join(one for one in gold if one not in _MARKS)
        if not set(_without_articles(gold)) <= CHOICES:
            raise (TypeError if _is_number(found) else AttributeError)("the gold answer is no text")
    right = _text(gold, TypeError)
    return Verdict(equality(found, right), bool(found.strip()), found.strip() or None, "official")


def truths(reply: object, gold: object, _: str) -> Verdict:
    """What a story says, and what is so: the mean of both."""
    right = _halves(_text(gold, AttributeError))
    found = [_truth(half) for half in _halves(_text(reply, AttributeError))]
    value = sum(map(equality, found, right)) / len(right)
    return Verdict(value, ERROR not in found, " ".join(found), "official")


def _halves(text: str) -> tuple[str, str]:
    parts = text.lower().split(_FACT)
    if len(parts) == 1:
        raise IndexError("the text has no part [fact: ...]")
    # Known fault: whatever the last letter is, it is taken for the closing bracket.
    return parts[0].strip(), parts[1][:-1].strip()


def _truth(text: str) -> str:
    for word in text.split():
        # In a word that holds both, true is looked for first.
        for truth in ("true", "false"):
            if truth in word:
                return truth
    return ERROR


def equality(found: str, right: str) -> float:
    """What ``em.py`` makes of two texts: choices where the gold one has no other letter than A to D, else numbers or
    a gold text that stands in the other when spaces are gone.
    """
    letters, gold_letters = _without_articles(found), _without_articles(right)
    if set(gold_letters) <= CHOICES:
        return 1.0 if letters == gold_letters else _PARTLY * (set(letters) <= set(gold_letters))
    try:
        return float(float(found) == float(right))
    except ValueError:
        found, right = (text.lower().replace(" ", "") for text in (found, right))
        return float(right in found)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _without_articles(text: str) -> str:
    return " ".join(_ARTICLE.sub(" ", text.translate(_TO_NOTHING)).split())
