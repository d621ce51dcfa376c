"""Who has a sample assigned, and who has it open now. Neither is in the log: it decides nothing.

An assignment ends when the sample changes its version, which is when the step is done.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from sqlalchemy import (
    ARRAY,
    BindParameter,
    CompoundSelect,
    String,
    any_,
    bindparam,
    delete,
    insert,
    literal,
    select,
    union_all,
)

from fathom.server.database import clear_errors
from fathom.studio.schema import assignments, openings, samples
from fathom.studio.staffing import Staff, can_go_on
from fathom.studio.states import DECIDED_BY_OTHERS, RefusedError, check_right
from fathom.studio.store import Store
from fathom.studio.types import Person, Role, Sample

OPEN_SECONDS = 75
"""A page that is open says so every 30 seconds; after this time without it, it counts as closed."""
_CURRENT = (assignments.c.sample == samples.c.id) & (assignments.c.version == samples.c.version)
_MINE = (
    select(assignments.c.sample, *samples.c["involved", "state"])
    .join(samples, _CURRENT)
    .where(assignments.c.person == bindparam("name"))
    .order_by(assignments.c.sample)
)
"""Each page of samples asks this, and composing it would take longer than its answer."""


@cache
def _at_work(*, arrays: bool) -> CompoundSelect[Any]:
    """Who is at work on samples; with their ids in an array if the database has some: 50 values take longer to send."""
    ids: BindParameter[Any] = bindparam("ids", type_=ARRAY(String)) if arrays else bindparam("ids", expanding=True)
    have, opened = (
        column == any_(ids) if arrays else column.in_(ids) for column in (assignments.c.sample, openings.c.sample)
    )
    return union_all(
        select(literal("assigned").label("what"), assignments.c.sample, assignments.c.person)
        .join(samples, _CURRENT)
        .where(have),
        select(literal("open").label("what"), openings.c.sample, openings.c.person).where(
            openings.c.seen >= bindparam("since"), opened
        ),
    )


def assign(store: Store, sample: Sample, name: str, by: Person) -> None:
    """Assign the present step of a sample to somebody who can do it: annotators to themselves, experts to others too.

    In the answer review only administrators assign others: an expert who knew the reviewers could not decide blindly.

    Args:
        name: Who is to do it.

    Raises:
        RefusedError: They may not, or the other person cannot do the step.
    """
    check_right("annotator" if name == by.name else assigning_role(sample), by, operator=True)
    if name not in can_do(sample, store.staff(), by.name):
        raise RefusedError(f"sample {sample.id}: {name[:64]} cannot do what comes next; choose somebody else")
    with clear_errors(), store.engine.begin() as connection:
        connection.execute(delete(assignments).filter_by(sample=sample.id, person=name))
        if sample.state != "answer_review":
            connection.execute(delete(assignments).filter_by(sample=sample.id))
        connection.execute(insert(assignments).values(sample=sample.id, person=name, version=sample.version))


def assigning_role(sample: Sample) -> Role:
    """The role that may assign a sample to others."""
    return "administrator" if sample.state == "answer_review" else "expert"


def can_do(sample: Sample, staff: Staff, name: str) -> list[str]:
    """Who can do the present step of a sample, as far as somebody may know it: not who has reviewed the answer.

    Args:
        name: Who looks at it; in adjudication they learn about themselves only.
    """
    if sample.state == "answer_review":
        sample = replace(sample, reviews=(), first_verdicts=())
    able = can_go_on(sample, staff)
    return [name] * (name in able) if sample.state == "adjudication" else able


def release(store: Store, sample: Sample, name: str, by: Person) -> None:
    """End an assignment.

    Args:
        by: Who ends it.

    Raises:
        RefusedError: It is that of somebody else, and they may not assign the sample to others.
    """
    check_right("annotator" if name == by.name else assigning_role(sample), by, operator=True)
    if sample.state == "adjudication" and name != by.name:
        raise RefusedError(f"sample {sample.id}: names are hidden now; only {name[:64]} ends this assignment")
    with clear_errors(), store.engine.begin() as connection:
        connection.execute(delete(assignments).filter_by(sample=sample.id, person=name))


def assigned_to(store: Store, name: str) -> list[str]:
    """Ids of the samples that somebody has assigned now and has not reviewed or decided on yet.

    Others still see the assignment then: its end would tell them who has reviewed.
    """
    rows = store.rows(_MINE, {"name": name})
    return [row.sample for row in rows if row.state not in DECIDED_BY_OTHERS or f"|{name}|" not in row.involved]


@dataclass(frozen=True, slots=True)
class AtWork:
    """Who has a sample assigned, and who has it open, by name."""

    assigned: tuple[str, ...] = ()
    open: tuple[str, ...] = ()


def at_work(store: Store, ids: Collection[str], clock: Callable[[], float] = time.time) -> dict[str, AtWork]:
    """Who has samples assigned and open now, by id.

    Args:
        clock: Seconds since the epoch.
    """
    values = {"ids": list(ids), "since": int(clock()) - OPEN_SECONDS}
    rows = store.rows(_at_work(arrays=store.folder is None), values) if ids else []
    names: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        names[row.sample, row.what].append(row.person)
    return {id: AtWork(*(tuple(sorted(names[id, what])) for what in ("assigned", "open"))) for id in ids}


def keep_open(store: Store, sample: str, name: str, clock: Callable[[], float] = time.time) -> None:
    """Note that somebody has a sample open.

    Args:
        sample: Its id.
        clock: Seconds since the epoch.
    """
    present = int(clock())
    with clear_errors(), store.engine.begin() as connection:
        connection.execute(delete(openings).where(openings.c.seen < present - OPEN_SECONDS))
        connection.execute(delete(openings).filter_by(sample=sample, person=name))
        connection.execute(insert(openings).values(sample=sample, person=name, seen=present))
