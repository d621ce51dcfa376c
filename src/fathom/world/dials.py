"""Which task heeds which dial, with its usual value and those that it takes."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from fathom.types import Dial, Facet
from fathom.world.types import AS_USUAL, Dials

_YES_NO = Dial("no", words=("no", "yes"))
_SHARE = Dial(0, least=0, most=1, whole=False)
_OFFERED = Dial("off", words=("off", "no", "yes"))
"""Of tasks whose questions offer no such answer by default."""
_LITERAL = Dial(0, least=0, most=1)
_LAYOUT = {
    "spread": Dial(1, least=0, most=1, whole=False),
    "order": Dial("random", words=("forward", "random", "reverse")),
}
"""Within which share of the context the evidence stands, and whether it stands in the order in which it is used."""
_NAMES = {"names": Dial("invented", words=("invented", "real"))}

PAPERS = (
    "T1.1", "T1.2", "T2.1", "T2.2", "T3.1", "T3.2", "T4.1", "T4.2", "T5.1", "T5.2", "T6.1", "T6.2", "T6.3", "T7.1",
    "T7.3",
)  # fmt: skip
BOOKS = ("T8.1", "T8.2")
STATE = ("T7.2", "T8.3", "T9.1", "T9.2", "T10.1", "T10.2", "T11.1", "T11.2")
"""Tasks about papers, about cash books, and about texts in which things change."""
IN_ORDER = ("T1.1", "T1.2", "T2.1", "T2.2", "T3.1", "T4.1", "T4.2", "T5.1", "T5.2")
"""Tasks that take their evidence in an order."""
TWINS = ("T1.1", "T1.2", "T3.1", "T3.2", "T6.2", *BOOKS)
"""Tasks with counterfactual twins."""
_HOPS = {"T3.1": (2, 4), "T9.1": (1, 4), "T8.3": (1, 4)}
_NEAR = {
    "T1.1": (3, 1, 9), "T1.2": (2, 2, 8), "T2.1": (2, 1, 6), "T2.2": (3, 1, 9), "T3.1": (3, 3, 9), "T3.2": (3, 3, 12),
    "T4.1": (0, 0, 8), "T4.2": (1, 1, 5), "T5.1": (0, 0, 8), "T5.2": (2, 1, 8), "T6.1": (0, 0, 8), "T6.2": (4, 1, 9),
    "T6.3": (3, 2, 8), "T7.1": (8, 2, 12), "T8.1": (1, 1, 5), "T8.2": (2, 1, 6), "T9.2": (4, 2, 8), "T11.2": (4, 2, 8),
}  # fmt: skip
"""Usual, least and most siblings; 4, 1 and 8 of the tasks about state that are not named."""


def _of(code: str) -> Mapping[str, Dial]:
    dials: dict[str, Dial] = {}
    if code in _HOPS or code in STATE:
        least, most = _HOPS.get(code, (1, 3))
        dials["hops"] = Dial(2, least=least, most=most)
    if code in _NEAR or code in STATE:
        usual, least, most = _NEAR.get(code, (4, 1, 8))
        dials["near"] = Dial(usual, least=least, most=most)
    dials["noise"] = _SHARE
    if code in PAPERS:
        dials["density"] = Dial(1, least=0.1, most=1, whole=False)
    if code in ("T3.1", "T3.2"):
        dials["unanswerable"] = _OFFERED
    elif code in STATE or code == "T5.1":  # offers it in any case
        dials["unanswerable"] = _YES_NO
    if code == "T3.2" or (code in STATE and code not in ("T9.2", "T11.1")):
        dials["paraphrase"] = _LITERAL
    if code in TWINS:
        dials["counterfactual"] = _YES_NO
    if code not in STATE:
        dials |= _NAMES
        if code != "T3.2":  # has one sentence
            dials["spread"] = _LAYOUT["spread"]
    if code in IN_ORDER:
        dials["order"] = _LAYOUT["order"]
    return dials


HEEDED: Mapping[str, Mapping[str, Dial]] = {code: _of(code) for code in (*PAPERS, *BOOKS, *STATE)}
"""The dials of each secondary task."""


def dials_of(chosen: Mapping[str, Facet]) -> Dials:
    """The dials of a family, of those chosen for an item."""
    known = {field.name for field in fields(Dials)}
    flags = {"yes": True, "no": False, "off": None}
    values: dict[str, Any] = {
        name: flags.get(value, value) if isinstance(value, str) else value
        for name, value in chosen.items()
        if name in known
    }
    return Dials(**values)


def settled(code: str, dials: Dials) -> Dials:
    """The dials with the usual number of siblings of a task where none is given."""
    usual = HEEDED[code].get("near")
    return replace(dials, near=int(usual.default)) if usual and dials.near == AS_USUAL else dials
