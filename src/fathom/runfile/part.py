"""Which part of an unfinished run was asked: how much of each task and length, and whether in a random order."""

from pathlib import Path

from fathom.runfile.manifest import FILE as MANIFEST
from fathom.runfile.manifest import observe_run, observed_in
from fathom.runfile.store import FILE, clear_errors, reading

RANDOM = "in an order as good as random"
OF_SUITE = "in the order of the suite, which need not be random"
UNKNOWN = "in an order that is not known"
_WORDS = {("random",): RANDOM, ("suite",): OF_SUITE, ("random", "suite"): OF_SUITE}
_KEY = "orders"
_QUERY = """
SELECT p.task, p.length, count(*), count(r.sample)
FROM planned p LEFT JOIN replies r ON r.sample = p.sample AND r.epoch = p.epoch GROUP BY p.task, p.length
"""


def note_order(folder: Path, *, random: bool, begun: bool) -> None:
    """Record in ``run.json`` that samples of a run are asked in an order.

    Args:
        folder: The run folder; without ``run.json`` nothing is recorded.
        random: Whether it is that of a run that stops early, or that of the suite.
        begun: Whether the run has replies: those of earlier versions are in an order that was not recorded.

    Raises:
        FathomError: The file cannot be read or written.
    """
    if (folder / MANIFEST).is_file():
        earlier = _orders(folder) or (["unknown"] if begun else [])
        observe_run(folder, {_KEY: sorted({*earlier, "random" if random else "suite"})})


def _orders(folder: Path) -> list[str]:
    known = observed_in(folder).get(_KEY)
    return list(map(str, known)) if isinstance(known, list) else []


def asked_so_far(folder: Path) -> str:
    """What was asked of a run that is not finished, in words; "" if it is finished or its plan is not known.

    Raises:
        FathomError: The store or ``run.json`` cannot be read.
    """
    if not (folder / FILE).is_file():
        return ""
    with clear_errors(folder), reading(folder) as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'planned'").fetchone():
            return ""
        planned = db.execute(_QUERY).fetchall()
    if sum(asked for *_, asked in planned) == sum(count for *_, count, _ in planned):
        return ""
    shares = [100 * asked // count for *_, count, asked in planned]  # rounded down: 100% is all
    low, high = min(shares), max(shares)
    part = f"{low}% of every task and length" if low == high else f"{low}% to {high}% of every task and length"
    return f"asked was {part}, {_WORDS.get(tuple(_orders(folder)), UNKNOWN)}"
