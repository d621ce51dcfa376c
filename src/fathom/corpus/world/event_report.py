"""The report of an event: festival, expedition, trial, flood, treaty or exhibition."""

from __future__ import annotations

from fathom.corpus.world.deeds import Event
from fathom.corpus.world.outline import Ask, Desk, Need, Outline, asides, beat, look, scenes, work_out
from fathom.corpus.world.prose import Section


def event_report(desk: Desk, rank: int) -> Outline:
    """Outline the report of event ``rank`` of the cluster."""
    event = desk.cluster.events[rank]
    subject = desk.thing(event.full, event.name, f"others.{event.kind}")
    ranked = sorted(event.shares, key=lambda share: -share.value)
    facts = {"e": event, "best": ranked[0], "next": ranked[1]}
    return Outline(event.kind, subject, facts, _sections(desk, event), _asks(event))


def _sections(desk: Desk, e: Event) -> tuple[Section, ...]:
    kind, dice = e.kind, desk.dice
    figures = [beat(f"{kind}.figure:{key}", f"{kind}.{key}", e=e, value=value) for key, value in e.figures.items()]
    shares = [
        beat(f"{kind}.share:{number}", f"{kind}.share" if number else f"{kind}.share.first", share=share, e=e)
        for number, share in enumerate(e.shares)
    ]
    return (
        Section((beat(f"{kind}.lead", e=e), beat("event.weather", e=e), beat(f"{kind}.leader", e=e)), core=True),
        Section((beat(f"{kind}.before", e=e), beat(f"{kind}.second", e=e)), core=True),
        Section((beat("aside.place", place=e.place), beat("aside.census", place=e.place))),
        Section((figures[0], beat("scene.people", place=e.place), figures[1]), core=True),
        *scenes(desk, "event", e.place, 2),
        Section((*shares[:3],), core=True),
        Section((*shares[3:], beat("voice.event", place=e.place))),
        *scenes(desk, "event", e.place, 2),
        Section((beat(f"{kind}.turn", e=e), beat(f"{kind}.talk", e=e))),
        *asides(desk, e.leader, e.name),
        Section((beat(f"{kind}.scene", e=e), beat(f"{kind}.remark", e=e))),
        *scenes(desk, "event", dice.pick((e.place, e.other)), 5),
        Section((figures[2], beat("event.cost", e=e), beat("event.end", e=e)), core=True),
        Section((beat("voice.event", place=e.place), beat(f"{kind}.after", e=e)), core=True),
    )


def _asks(e: Event) -> tuple[Ask, ...]:
    kind = e.kind
    asks = [
        look("when", "q.event.start", f"{kind}.lead", e.start, "date", e=e),
        look("who", f"q.{kind}.leader", f"{kind}.leader", e.leader, e=e),
        look("who", f"q.{kind}.second", f"{kind}.second", e.second, e=e),
        look("how much", "q.event.cost", "event.cost", e.cost, "money", e=e),
        look("when", "q.event.end", "event.end", e.end, "date", e=e),
        work_out(
            "duration",
            "q.event.lasted",
            (e.end - e.start).days,
            "number",
            Need(f"{kind}.lead", e.start, "date"),
            Need("event.end", e.end, "date"),
            e=e,
        ),
    ]
    for key, value in e.figures.items():
        how = "money" if key in MONEY else "number"
        asked = "how much" if key in MONEY else "how many"
        asks.append(look(asked, f"q.{kind}.{key}", f"{kind}.figure:{key}", value, how, e=e))
    for number, share in enumerate(e.shares):
        asks.append(
            look("how many", f"q.{kind}.share", f"{kind}.share:{number}", share.value, "number", e=e, share=share)
        )
    one, two = e.shares[:2]
    needs = (Need(f"{kind}.share:0", one.value, "number"), Need(f"{kind}.share:1", two.value, "number"))
    facts = {"e": e, "one": one, "two": two}
    more = max(one, two, key=lambda share: share.value)
    asks.append(work_out("which", f"q.{kind}.more", more.name, "text", *needs, **facts))
    asks.append(work_out("difference", f"q.{kind}.gap", abs(one.value - two.value), "number", *needs, **facts))
    return tuple(asks)


MONEY = ("takings", "claim")
