"""Labels that are learned from examples: which labels these show, and for what.

A prompt ends with numbered pairs whose relations are asked for, or with a sentence whose entities are, after examples
of the same form (``fathom.benchmarks.leader.icl_tasks``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from random import Random

_PAIR = re.compile(r"^[0-9]+\. (.+ \| .+)$", re.MULTILINE)
_RELATION = re.compile(r"^[0-9]+\. ([a-z]+:[a-z_/]+)$", re.MULTILINE)
_EXAMPLE = re.compile(r"^Pairs:\n((?:[0-9]+\. .+\n)+)Relations:\n((?:[0-9]+\. .+\n?)+)", re.MULTILINE)
_ENTITY = re.compile(r"^(\S.*): ([a-z]+-[A-Za-z/]+)$", re.MULTILINE)
NO_RELATION = "unanswerable"
NO_TYPE = "other"


def said_relations(labels: Sequence[str]) -> str:
    """Relations as a prompt asks for them."""
    return "\n".join(f"{number}. {label}" for number, label in enumerate(labels, start=1))


def any_relations(context: str, question: str, rng: Random) -> str:
    """For each pair one of the relations that the examples show."""
    labels = sorted(set(_RELATION.findall(context))) or [NO_RELATION]
    return said_relations([rng.choice(labels) for _ in _PAIR.findall(question) or [""]])


def common_relations(context: str, question: str) -> str | None:
    """For each pair the relation that the examples have most often for these words, or most often at all."""
    seen: dict[str, Counter[str]] = {}
    for pairs, relations in _EXAMPLE.findall(context):
        for pair, label in zip(_PAIR.findall(pairs), _RELATION.findall(relations), strict=False):
            for key in (pair, ""):
                seen.setdefault(key, Counter())[label] += 1
    asked = _PAIR.findall(question)
    if not seen or not asked:
        return None
    return said_relations([seen.get(pair, seen[""]).most_common(1)[0][0] for pair in asked])


def any_entity(words: str, context: str, rng: Random) -> str:
    """Some words, and one of the types that the examples show."""
    return f"{words}: {rng.choice(sorted({kind for _, kind in _ENTITY.findall(context)}) or [NO_TYPE])}"


def known_entities(context: str, question: str) -> str | None:
    """What the examples name of the words of a sentence, with its type there; None if nothing."""
    known = dict(_ENTITY.findall(context))
    found = [name for name in known if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", question)]
    return "\n".join(f"{name}: {known[name]}" for name in found) or None
