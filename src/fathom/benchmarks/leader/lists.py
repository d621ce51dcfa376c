"""Lists of labels as LongICLBench scores them: relations of pairs (Dialog-RE), and entities with their types (FewNERD).

Both are F1 of labels that are counted over a reply: precision is the share of what it names that is right, recall the
share of the gold labels. LongICLBench (Li et al. 2024; ``dialogueRE_evaluate.py``, ``fewnerd_evaluate.py`` and the
parsing in ``dialoguere_infer.py`` and ``fewnerd_infer.py``) counts over all replies before it divides, here each reply
has a score, and a benchmark is the mean of them. Its prompts ask for relations on one line, separated by commas, ours
for one on each line; both are read.

``official``: relations are the pieces between commas and line ends in their order, right where the gold label is a part
of the piece in its place; those that hold no label are not counted as named. Entities are the lines ``ENTITY: TYPE`` up
to the first that is none, cut at the first colon.

``strict`` leaves thoughts aside, and names, labels and types are compared whole, whatever their case and spaces.
Relations are all labels that stand in the reply, in their order; where each of their lines begins with a number, the
number is the place, so that a pair that was left out does not move those after it. Entities may have bullets, quotes
and Markdown around them, and ``:``, ``->``, ``|``, a tab or brackets before the type; other lines are passed over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from fathom.score.registry import Scorer, ScoringRow
from fathom.score.text import fold, without_reasoning
from fathom.types import Verdict

Named: TypeAlias = list[tuple[str, str]]
"""What is named: the place of a pair from 0, or an entity, and its label."""

_LABEL = re.compile(r"\b(?:[a-z]{2,}:[a-z_]+(?:/[a-z_]+)*|unanswerable)\b")
_NUMBERED = re.compile(r"\W*(\d{1,4})[.):、]")
_BULLET = re.compile(r"^(?:[-*•‣–]|\(?\d{1,3}[.)、])\s+")
_TYPED = re.compile(r"(.+)(?:->|→|=>|[:|\t]|\s-\s)\s*([^\s:|].*)")
_BRACKETED = re.compile(r"(.+?)[(\[]([^()\[\]]+)[)\]]")
_AROUND = " \t\"'“”‘’`*_,;.()[]"


def list_scorer(dataset: str, rule: str) -> Scorer:
    """The scorer of a data set under a rule.

    Args:
        dataset: ``dialogre``: gold is a JSON list of labels in the order of the pairs that were asked about.
            ``fewnerd``: gold is a JSON list of ``[entity, type]``.
        rule: ``official`` or ``strict``.
    """
    read = READERS[dataset, rule]

    def score(row: ScoringRow) -> Verdict:
        if not isinstance(row.prediction, str):
            return Verdict(None, False, grader=rule, detail="no reply: the prediction is no text")
        gold = _gold(row.answers, dataset)
        if gold is None:
            expected = "labels" if dataset == "dialogre" else "[entity, type]"
            return Verdict(None, False, grader=rule, detail=f"expected a gold answer that is a JSON list of {expected}")
        if rule == "official":
            named = read(row.prediction)
            right, wanted = _right_official(named, gold, dataset), len(dict(gold))
        else:
            named = read(without_reasoning(row.prediction))
            golds = {(_even(name), _even(label)) for name, label in gold}
            right, wanted = len(golds.intersection(named)), len(golds)
        return Verdict(f1(right, len(named), wanted), bool(named) or not gold, _shown(named), rule)

    return score


def f1(right: int, named: int, gold: int) -> float:
    """F1 of counts; 1.0 where there is nothing to name and nothing is named."""
    return 2 * right / (named + gold) if named + gold else 1.0


def _right_official(named: Named, gold: Named, dataset: str) -> int:
    said = dict(named)
    if dataset == "dialogre":
        return sum(label in said.get(place, "") for place, label in gold)
    return sum(said.get(entity) == label for entity, label in dict(gold).items())


def _gold(answers: object, dataset: str) -> Named | None:
    text = answers[0] if isinstance(answers, list) and len(answers) == 1 else answers
    try:
        listed = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(listed, list):
        return None
    if dataset == "dialogre":
        return _placed(listed) if all(isinstance(one, str) for one in listed) else None
    pairs = [(one[0], one[1]) for one in listed if isinstance(one, list) and [*map(type, one)] == [str, str]]
    return pairs if len(pairs) == len(listed) else None


def _placed(labels: Sequence[str]) -> Named:
    return [(str(place), label) for place, label in enumerate(labels)]


# ------------------------------------------------------------------------------------------------ relations


def relations_official(reply: str) -> Named:
    """Pieces of a reply that hold a label, with their places among all pieces."""
    pieces = [piece for piece in map(str.strip, re.split("[,\n]", reply)) if piece]
    return [(place, piece) for place, piece in _placed(pieces) if _LABEL.search(piece)]


def relations_strict(reply: str) -> Named:
    """Labels of a reply with their places; a second label for one pair has no place, and is one too many."""
    lines = [(line, labels) for line in fold(reply).lower().splitlines() if (labels := _LABEL.findall(line))]
    numbers = [int(found[1]) for line, _ in lines if (found := _NUMBERED.match(line))]
    if len(numbers) < max(2, len(lines)):
        return _placed([label for _, labels in lines for label in labels])
    named: Named = []
    for number, (_, labels) in zip(numbers, lines, strict=True):
        named.append((str(number - 1), labels[0]))
        named.extend(("", label) for label in labels[1:])
    return named


# ------------------------------------------------------------------------------------------------- entities


def entities_official(reply: str) -> Named:
    """Lines ``ENTITY: TYPE`` from the start of a reply; of one entity the last type."""
    named: dict[str, str] = {}
    for line in reply.strip().split("\n"):
        entity, colon, rest = line.partition(": ")
        if not colon or line.startswith(("Sentence", "sentence")):
            break
        named[entity] = rest.partition(": ")[0]
    return list(named.items())


def entities_strict(reply: str) -> Named:
    """Entities with their types, in one form, each pair once; also from a list in JSON, as gold answers are."""
    listed = _gold(reply, "fewnerd") or ()
    named: Named = [(_even(entity), _even(label)) for entity, label in listed]
    for line in [] if named else fold(reply).splitlines():
        bare = _BULLET.sub("", line.strip().strip("*`|"))
        found = _BRACKETED.fullmatch(bare)
        # Names have colons and dashes too, and types a dash: "Paris - Orly (building-airport)".
        if not (found and "-" in found[2]):
            found = _TYPED.fullmatch(bare) or found
        if found:
            named.append((_even(found[1]), _even(found[2])))
    return [pair for pair in dict.fromkeys(named) if all(pair)]


def _even(text: str) -> str:
    """A text in one form: no marks around it, no case, single spaces."""
    return " ".join(fold(text).casefold().strip(_AROUND).split())


def _shown(named: Named) -> str | None:
    return "; ".join(f"{name}: {label}" for name, label in named) or None


READERS: dict[tuple[str, str], Callable[[str], Named]] = {
    ("dialogre", "official"): relations_official,
    ("dialogre", "strict"): relations_strict,
    ("fewnerd", "official"): entities_official,
    ("fewnerd", "strict"): entities_strict,
}
"""Readers of replies by data set and rule."""
