"""Metrics of Graphwalks: F1 of the nodes in the last line of a reply.

The released code exists in three states, and three ports of it are in use; they differ on a model by points. Each is a
metric with its own rule ``official``:

* ``card_2025``: the card of openai/graphwalks of April 2025. The first node keeps the text before it and never matches.
* ``card_2026_02``: as of 2026-02-27. A reply without a right node scores 1.
* ``card_2026_latest``: the card's later state. An unreadable reply scores 0, an empty answer to an empty gold list 1.
* ``nvidia_gym``: the last line that is not blank.
* ``openbench``: any case, nothing after the bracket; what cannot be read is an empty list, which may be right.
* ``lm_eval_f1``, ``lm_eval_flexible_f1``: an empty gold list always scores 0; quotes are removed; the second one takes
  the last line that has an answer.

``strict``, one rule for all, ignores thoughts, takes the last answer anywhere, removes quotes, backticks and asterisks,
and wants an explicit ``[]`` where no node is right.
"""

import re
from collections.abc import Callable, Iterable, Set
from typing import Any, TypeAlias

from fathom.score.registry import ScoringRow
from fathom.score.released import Answer, Corrected, Released, metric

Nodes: TypeAlias = "list[str] | None"
"""The nodes that a reply names; None if it cannot be read."""
_CARD = re.compile(r"Final Answer: ?\[.*\]")
_BRACKETS = re.compile(r"\[.*\]")
_LIST = re.compile(r"Final Answer:\s*\[(.*)\]")
_OPENBENCH = re.compile(r"final answer:\s*\[(.*)\]\s*$", re.IGNORECASE)
_STRICT = re.compile(r"final answer[\s*_`]*[:：][\s*_`]*\[([^\[\]]*)\]", re.IGNORECASE)
_AROUND = " \t\"'`*_“”‘’"


def f1(named: Set[str], gold: Set[str]) -> float:
    """F1 of two sets; 0 if they share nothing."""
    shared = len(named & gold)
    if not shared:
        return 0.0
    precision, recall = shared / len(named), shared / len(gold)
    return 2 * (recall * precision) / (recall + precision)


def _items(inner: str, around: str = "") -> list[str]:
    return [item.strip().strip(around) if around else item.strip() for item in inner.split(",") if item.strip()]


def _last_line(reply: str) -> str:
    return reply.split("\n")[-1]


def _card(pattern: re.Pattern[str]) -> Callable[[Any], Nodes]:
    def read(reply: Any) -> Nodes:
        line = _last_line(reply)
        match = pattern.search(line) if "Final Answer:" in line else None
        return None if match is None else _items(match[0].strip("[]"))

    return read


def _nvidia(reply: Any) -> Nodes:
    lines = [line for line in (reply or "").strip().split("\n") if line.strip()]
    match = _LIST.search(lines[-1]) if lines else None
    return None if match is None else _items(match[1])


def _openbench(reply: Any) -> Nodes:
    match = _OPENBENCH.search(_last_line(reply or ""))
    return None if match is None else _items(match[1])


def _lm_eval(reply: Any) -> Nodes:
    match = _LIST.search(_last_line(reply.rstrip("\n")))
    return None if match is None else _items(match[1], "'\"")


def _lm_eval_flexible(reply: Any) -> Nodes:
    for line in reversed(reply.rstrip("\n").split("\n")):
        if match := _LIST.search(line):
            return _items(match[1], "'\"")
    return None


def _official(read: Callable[[Any], Nodes], *, empty: float, unread: float | None) -> Released:
    """A rule of the released code.

    Args:
        read: Reads the nodes of a reply.
        empty: The score of no nodes where the gold list is empty.
        unread: The score of a reply that cannot be read; None for that of no nodes.
    """

    def compute(reply: Any, gold: Iterable[str], row: ScoringRow) -> Answer:
        nodes = read(reply)
        named, right = set(nodes or ()), set(gold)
        if nodes is None and unread is not None:
            value = unread
        else:
            value = empty if not named and not right else f1(named, right)
        return value, nodes is not None, None if nodes is None else ", ".join(nodes)

    return compute


def _lenient(reply: Any, gold: Iterable[str], row: ScoringRow) -> Answer:
    """The card of 2026-02: 1 for every reply without a right node."""
    nodes = _card(_CARD)(reply)
    named, right = set(nodes or ()), set(gold)
    return f1(named, right) or 1.0, nodes is not None, None if nodes is None else ", ".join(nodes)


def strict_nodes(reply: str) -> list[str] | None:
    """The nodes of the last answer in a reply, each once; None without an answer."""
    answers = _STRICT.findall(reply)
    return list(dict.fromkeys(node for node in _items(answers[-1], _AROUND) if node)) if answers else None


def _strict(reply: str, gold: Any, row: ScoringRow) -> Answer | None:
    if not isinstance(gold, list):
        return None
    nodes, right = strict_nodes(reply), {str(node).strip() for node in gold}
    if nodes is None:
        return 0.0, False, None
    return float(not nodes) if not right else f1(set(nodes), right), True, ", ".join(nodes)


_RULES: tuple[tuple[str, Released, str], ...] = (
    ("card_2025", _official(_card(_CARD), empty=0.0, unread=0.0), "as on the card of openai/graphwalks in 2025"),
    ("card_2026_02", _lenient, "as on the card of 2026-02-27"),
    ("card_2026_latest", _official(_card(_BRACKETS), empty=1.0, unread=0.0), "as on the card since"),
    ("nvidia_gym", _official(_nvidia, empty=1.0, unread=0.0), "as NVIDIA's NeMo Gym computes it"),
    ("openbench", _official(_openbench, empty=1.0, unread=None), "as openbench computes it"),
    ("lm_eval_f1", _official(_lm_eval, empty=0.0, unread=0.0), "as lm-evaluation-harness computes it"),
    ("lm_eval_flexible_f1", _official(_lm_eval_flexible, empty=0.0, unread=0.0), "the same for its flexible_f1"),
)
_CORRECTED: Corrected = _strict
METRICS = tuple(
    metric("graphwalks", name, official, _CORRECTED, f"F1 of the nodes, {description}")
    for name, official, description in _RULES
)
