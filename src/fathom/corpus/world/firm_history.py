"""The history of a firm."""

from __future__ import annotations

from fathom.corpus.world.facts import Firm
from fathom.corpus.world.outline import Ask, Desk, Need, Outline, asides, beat, look, scenes, work_out
from fathom.corpus.world.prose import Section


def firm_history(desk: Desk, rank: int) -> Outline:
    """Outline the history of firm ``rank`` of the cluster."""
    firm = desk.cluster.firms[rank]
    subject = desk.thing(firm.full, firm.name, "others.firm", house=firm.trade.house)
    founder = next(person for person in desk.cluster.people if person.name == firm.founder)
    sections = (
        Section((beat("firm.lead", f=firm), beat("firm.founded", f=firm)), core=True),
        Section((beat("firm.founder", f=firm, p=founder), beat("firm.partner", f=firm)), core=True),
        Section((beat("firm.room", f=firm), beat("firm.goods", f=firm), beat("firm.capital", f=firm)), core=True),
        *_growth(desk, firm),
        *_fortunes(desk, firm),
    )
    return Outline("firm", subject, {"f": firm, "last": firm.revenue[-1]}, sections, _asks(firm))


def _growth(desk: Desk, f: Firm) -> tuple[Section, ...]:
    money = [
        beat(f"firm.revenue:{number}", "firm.revenue" if number else "firm.revenue.first", figure=figure, f=f)
        for number, figure in enumerate(f.revenue)
    ]
    hands = [
        beat(f"firm.hands:{number}", "firm.hands" if number else "firm.hands.first", figure=figure, f=f)
        for number, figure in enumerate(f.hands)
    ]
    return (
        Section((*hands[:2], beat("firm.toil", f=f)), core=True),
        Section((*hands[2:],)),
        Section((*money[:3],), core=True),
        Section((*money[3:7], beat("firm.books", f=f))),
        *scenes(desk, "firm", f.seat, 2),
        Section((*money[7:11], beat("firm.books", f=f))),
        Section((*money[11:],)),
    )


def _fortunes(desk: Desk, f: Firm) -> tuple[Section, ...]:
    branches = [
        Section((beat(f"firm.branch:{number}", branch=branch, f=f), beat("firm.branchlife", branch=branch, f=f)))
        for number, branch in enumerate(f.branches)
    ]
    heads = [beat(f"firm.head:{number}", head=head, f=f) for number, head in enumerate(f.heads[1:], 1)]
    return (
        *branches,
        Section((beat("firm.fire", f=f), beat("firm.rebuilt", f=f)), core=True),
        Section((beat("aside.place", place=f.seat), beat("aside.census", place=f.seat))),
        Section((beat("firm.succession", f=f), *heads)),
        *asides(desk, f.founder, f.name),
        *scenes(desk, "firm", f.seat, 5),
        Section((beat("voice.firm", place=f.seat), beat("firm.closed", f=f), beat("firm.after", f=f)), core=True),
    )


def _asks(f: Firm) -> tuple[Ask, ...]:
    asks = [
        look("when", "q.firm.founded", "firm.founded", f.founded, "date", f=f),
        look("who", "q.firm.founder", "firm.founded", f.founder, f=f),
        look("who", "q.firm.partner", "firm.partner", f.partner, f=f),
        look("how much", "q.firm.capital", "firm.capital", f.capital, "money", f=f),
        look("when", "q.firm.fire", "firm.fire", f.fire, "date", f=f),
        look("how much", "q.firm.damage", "firm.fire", f.damage, "money", f=f),
        look("when", "q.firm.closed", "firm.closed", f.closed, "year", f=f),
        work_out(
            "duration",
            "q.firm.age",
            f.closed - f.founded.year,
            "number",
            Need("firm.founded", f.founded, "year"),
            Need("firm.closed", f.closed, "year"),
            f=f,
        ),
        work_out(
            "duration",
            "q.firm.before_fire",
            f.fire.year - f.founded.year,
            "number",
            Need("firm.founded", f.founded, "year"),
            Need("firm.fire", f.fire, "year"),
            f=f,
        ),
    ]
    for number, figure in enumerate(f.revenue[:8]):
        asks.append(
            look("how much", "q.firm.revenue", f"firm.revenue:{number}", figure.value, "money", f=f, figure=figure)
        )
    for number, figure in enumerate(f.hands):
        asks.append(
            look("how many", "q.firm.hands", f"firm.hands:{number}", figure.value, "number", f=f, figure=figure)
        )
    for number, branch in enumerate(f.branches):
        tag, facts = f"firm.branch:{number}", {"f": f, "branch": branch}
        asks.append(look("where", "q.firm.branch", tag, branch.place.name, **facts))
    return (*asks, *_compared(f))


def _compared(f: Firm) -> tuple[Ask, ...]:
    """Questions that compare two years of takings."""
    one, two = f.revenue[:2]
    needs = (Need("firm.revenue:0", one.value, "number"), Need("firm.revenue:1", two.value, "number"))
    facts = {"f": f, "one": one, "two": two}
    if one.value == two.value:
        return ()
    better = max(one, two, key=lambda figure: figure.value)
    return (
        work_out("difference", "q.firm.revenue_change", abs(two.value - one.value), "money", *needs, **facts),
        work_out("which", "q.firm.better_year", better.year, "year", *needs, **facts),
    )
