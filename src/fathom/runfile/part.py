"""Which part of an unfinished run was asked: how much of each task and length, and whether in a random order."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from fathom.runfile.store import FILE, clear_errors, reading
from fathom.types.samples import place_of

FEWEST = 10
"""Items from which on the order can be seen."""
RANDOM = "in an order as good as random"
OF_SUITE = "in the order of the suite, which need not be random"
_QUERY = """
SELECT p.task, p.item, p.length, CASE WHEN json_valid(p.facets) THEN p.facets ELSE '{}' END, r.sample IS NOT NULL
FROM planned p LEFT JOIN replies r ON r.sample = p.sample AND r.epoch = p.epoch
"""


def asked_so_far(folder: Path) -> str:
    """What was asked of a run that is not finished, in words; "" if it is finished or its plan is not known.

    Args:
        folder: The run folder.

    Raises:
        FathomError: The store cannot be read.
    """
    if not (folder / FILE).is_file():
        return ""
    with clear_errors(folder), reading(folder) as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'planned'").fetchone():
            return ""
        planned = db.execute(_QUERY).fetchall()
    cells, asked, places = Counter[object](), Counter[object](), dict[bytes, bool]()
    for task, item, length, facets, finished in planned:
        cells[task, length] += 1
        asked[task, length] += finished
        facet = json.loads(facets)
        place = place_of(str(task), str(item), facet.get("cluster") if isinstance(facet, dict) else None)
        places[place] = places.get(place, False) or bool(finished)
    if asked.total() == cells.total():
        return ""
    shares = [asked[cell] / count for cell, count in cells.items()]
    low, high = (f"{share:.0%}" for share in (min(shares), max(shares)))
    part = f"{low} of every task and length" if low == high else f"{low} to {high} of every task and length"
    order = order_of([places[place] for place in sorted(places)])
    return f"asked was {part}{f', {order}' if order else ''}"


def order_of(begun: Sequence[bool]) -> str:
    """The order in which items were asked, in words; "" for too few to see it.

    Requests overlap, so that a few items may be ahead of others. In any other order the items that were begun are
    spread over all places.

    Args:
        begun: Whether an item was begun, in the order of a run that stops early (``place_of``).
    """
    count, whole = sum(begun), len(begun)
    if count < FEWEST or whole - count < FEWEST:
        return ""
    ahead = sum(begun[count:])
    return RANDOM if ahead < count * (whole - count) / whole / 2 else OF_SUITE
