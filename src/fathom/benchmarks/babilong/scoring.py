"""Metrics of BABILong: which labels of a task a reply names.

``babilong`` is the released rule: of the first sentence in lower case, all labels that it contains and the question
does not must be the gold one, or all and only those of a list. Labels are found inside words: "none" holds "one", so
that the answer "none" of task 7 is never right, and "no" is in "know". ``training_compare_answers``, of the same
repository, and ``lm_eval_acc`` only look for the gold text.

``strict`` ignores thoughts, finds labels as whole words, the longest first, and takes the last sentence that names any.
"""

import re
from functools import cache
from types import MappingProxyType
from typing import Any

from fathom.benchmarks.leader.ruler_scoring import cleaned
from fathom.score.registry import ScoringRow
from fathom.score.released import Answer, metric, one_gold
from fathom.score.text import caseless, whole_words

_PLACES = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
_YES_NO = ("no", "yes")
LABELS = MappingProxyType(
    {
        **dict.fromkeys(("qa1", "qa2", "qa3", "qa4", "qa11", "qa12", "qa13"), _PLACES),
        "qa5": ("Bill", "Fred", "Jeff", "Mary", "apple", "football", "milk"),
        **dict.fromkeys(("qa6", "qa9", "qa17", "qa18"), _YES_NO),
        "qa7": ("none", "one", "three", "two"),
        "qa8": ("apple", "football", "milk", "nothing"),
        "qa10": ("maybe", "no", "yes"),
        "qa14": ("bedroom", "cinema", "kitchen", "office", "park", "school"),
        "qa15": ("cat", "mouse", "sheep", "wolf"),
        "qa16": ("gray", "green", "white", "yellow"),
        "qa19": ("e,e", "e,n", "e,s", "n,e", "n,n", "n,w", "s,e", "s,s", "s,w", "w,n", "w,s", "w,w"),
        "qa20": ("bedroom", "bored", "garden", "hungry", "kitchen", "thirsty", "tired"),
    }
)
"""The labels of the released code by task."""
_SENTENCE = re.compile(r"[.!?。！？\n]+")


def _first_sentence(reply: str) -> str:
    return reply.lower().split(".")[0].split("<context>")[0].split("<example>")[0]


def _golds(target: str) -> list[str]:
    return target.split(",") if "," in target and len(target) > 3 else [target]


def _official(reply: Any, gold: Any, row: ScoringRow) -> Answer:
    text, target = _first_sentence(reply), one_gold(gold).lower()
    labels = {label.lower() for label in LABELS.get(row.dataset, ())}
    question = str(row.extra["question"]).lower()
    named = {label for label in labels if label in text} - {label for label in labels if label in question}
    golds = _golds(target)
    right = len(named) == len(golds) and all(label in named for label in golds)
    return right, bool(named), ", ".join(sorted(named)) or None


def _training(reply: Any, gold: Any, row: ScoringRow) -> Answer:
    text = _first_sentence(reply)
    return one_gold(gold).lower() in text, bool(text.strip()), text


def _lm_eval(reply: Any, gold: Any, row: ScoringRow) -> Answer:
    text = cleaned(reply)
    return one_gold(gold).strip().lower() in text.lower(), bool(text), text


@cache
def _pattern(labels: tuple[str, ...]) -> re.Pattern[str]:
    """Any of some labels as whole words, the longest first."""
    return re.compile("|".join(f"(?:{whole_words(label).pattern})" for label in sorted(labels, key=len, reverse=True)))


def _strict(reply: str, gold: Any, row: ScoringRow) -> Answer | None:
    target = one_gold(gold)
    if not isinstance(target, str) or not target.strip():
        return None
    golds = set(_golds(caseless(target)))
    pattern = _pattern(tuple(sorted({*map(caseless, LABELS.get(row.dataset, ())), *golds})))
    asked = set(pattern.findall(caseless(str(row.extra.get("question", ""))))) - golds
    sentences = [set(pattern.findall(caseless(sentence))) - asked for sentence in _SENTENCE.split(reply)]
    named: set[str] = next((names for names in reversed(sentences) if names), set())
    return named == golds, bool(named), ", ".join(sorted(named)) or None


METRICS = tuple(
    metric("babilong", name, official, _strict, description)
    for name, official, description in (
        ("babilong", _official, "whether the first sentence names the gold labels and no others"),
        ("training_compare_answers", _training, "whether the first sentence contains the gold text"),
        ("lm_eval_acc", _lm_eval, "whether the reply contains the gold text, as in lm-evaluation-harness"),
    )
)
