"""A firm's accounts of one year, in prose with lines from the book."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.corpus.world.deeds import Entry, Ledger
from fathom.corpus.world.outline import Ask, Desk, Need, Outline, asides, beat, look, scenes, work_out
from fathom.corpus.world.prose import Beat, Section


def accounts(desk: Desk, rank: int) -> Outline:
    """Outline ledger ``rank`` of the cluster."""
    ledger = desk.cluster.ledgers[rank]
    subject = desk.thing(ledger.firm.full, ledger.firm.name, "others.firm", house=ledger.firm.trade.house)
    return Outline("accounts", subject, {"a": ledger, "f": ledger.firm}, _sections(desk, ledger), _asks(ledger))


def _sections(desk: Desk, a: Ledger) -> tuple[Section, ...]:
    half, third = len(a.receipts) // 2, len(a.payments) // 2
    facts = {"a": a, "f": a.firm}
    return (
        Section((beat("book.lead", **facts), beat("book.opening", **facts), beat("book.clerk", **facts)), core=True),
        Section(_told("receipt", a, a.receipts[:half], 0), core=True),
        Section(_listed("receipt", a, a.receipts[half:], half), core=True),
        Section((beat("book.income", **facts), beat("book.remark", **facts)), core=True),
        *scenes(desk, "firm", a.firm.seat, 2),
        Section(_told("payment", a, a.payments[:third], 0), core=True),
        Section(_listed("payment", a, a.payments[third:], third), core=True),
        Section((beat("book.outlay", **facts), beat("firm.toil", **facts))),
        Section((beat("firm.room", **facts), beat("firm.goods", **facts))),
        Section((beat("aside.place", place=a.firm.seat), beat("aside.census", place=a.firm.seat))),
        *asides(desk, a.firm.name),
        *scenes(desk, "firm", a.firm.seat, 5),
        Section((beat("book.closing", **facts), beat("book.audit", **facts)), core=True),
        Section((beat("voice.firm", place=a.firm.seat), beat("book.close", **facts))),
    )


def _told(kind: str, a: Ledger, entries: Sequence[Entry], start: int) -> tuple[Beat, ...]:
    return tuple(
        beat(f"book.{kind}:{number}", f"book.{kind}", entry=entry, a=a) for number, entry in enumerate(entries, start)
    )


def _listed(kind: str, a: Ledger, entries: Sequence[Entry], start: int) -> tuple[Beat, ...]:
    lines = (beat(f"book.{kind}:{number}", "book.line", entry=entry) for number, entry in enumerate(entries, start))
    return (beat("list", f"book.list.{kind}", a=a), *lines)


def _asks(a: Ledger) -> tuple[Ask, ...]:
    facts = {"a": a, "f": a.firm}
    asks = [
        look("how much", "q.book.opening", "book.opening", a.opening, "money", **facts),
        look("how much", "q.book.closing", "book.closing", a.closing, "money", **facts),
        look("who", "q.book.clerk", "book.clerk", a.clerk, **facts),
        look("who", "q.book.auditor", "book.audit", a.auditor, **facts),
        look("when", "q.book.audited", "book.audit", a.audited, "date", **facts),
        look("how much", "q.book.income", "book.income", a.income, "money", **facts),
        work_out(
            "difference",
            "q.book.change",
            abs(a.closing - a.opening),
            "money",
            Need("book.opening", a.opening, "number"),
            Need("book.closing", a.closing, "number"),
            **facts,
        ),
    ]
    for kind, entries in (("receipt", a.receipts), ("payment", a.payments)):
        for number, entry in enumerate(entries):
            tag, slots = f"book.{kind}:{number}", {"entry": entry, **facts}
            asks.append(look("how much", f"q.book.{kind}", tag, entry.amount, "money", **slots))
            asks.append(look("when", f"q.book.{kind}_day", tag, entry.day, "date", **slots))
    one, two = a.payments[0], a.payments[-1]
    needs = (
        Need("book.payment:0", one.amount, "number"),
        Need(f"book.payment:{len(a.payments) - 1}", two.amount, "number"),
    )
    more = max(one, two, key=lambda entry: entry.amount)
    asks.append(work_out("which", "q.book.more", more.party, "text", *needs, one=one, two=two, **facts))
    return tuple(asks)
