"""The portrait of a place."""

from __future__ import annotations

from fathom.corpus.world.facts import Place
from fathom.corpus.world.outline import Ask, Desk, Need, Outline, asides, beat, look, scenes, work_out
from fathom.corpus.world.prose import Section


def portrait(desk: Desk, rank: int) -> Outline:
    """Outline the portrait of place ``rank`` of the cluster."""
    place = desk.cluster.places[rank]
    subject = desk.thing(place.full, place.name, "others.place", kind=place.kind)
    sections = (*_land(desk, place), *_people(desk, place), *_today(desk, place))
    return Outline("portrait", subject, {"x": place}, sections, _asks(place))


def _land(desk: Desk, x: Place) -> tuple[Section, ...]:
    first, *later = x.censuses
    rows = [beat("town.census:0", "town.census.first", figure=first)]
    rows += [beat(f"town.census:{number}", "town.census", figure=figure) for number, figure in enumerate(later, 1)]
    return (
        Section((beat("town.lead", x=x), beat("town.away", x=x), beat("scene.river", place=x)), core=True),
        Section((beat("town.founded", x=x), beat("town.legend", x=x)), core=True),
        Section((beat("town.trade", x=x), beat("town.market", x=x), beat("scene.market", place=x)), core=True),
        Section(tuple(rows[:2]), core=True),
        Section((*rows[2:], beat("town.growth", x=x))),
        *scenes(desk, "place", x, 2),
    )


def _people(desk: Desk, x: Place) -> tuple[Section, ...]:
    cluster = desk.cluster
    sections = [
        Section((beat(f"town.landmark:{number}", mark=mark, x=x), beat("town.stone", mark=mark, x=x)), core=number < 2)
        for number, mark in enumerate(x.landmarks)
    ]
    sections += [
        Section((beat("town.firm", f=firm), beat("town.firmtold", f=firm))) for firm in cluster.firms if firm.seat == x
    ]
    sections += [
        Section((beat("town.event", e=event), beat("town.memory", e=event)))
        for event in cluster.events
        if event.place == x
    ]
    sections += [
        Section((beat("town.native", p=person), beat("town.proud", p=person)))
        for person in cluster.people
        if person.birthplace == x
    ]
    heads = [beat(f"town.head:{number}", head=head) for number, head in enumerate(x.heads)]
    return (*sections, Section((beat("town.council", x=x), *heads)))


def _today(desk: Desk, x: Place) -> tuple[Section, ...]:
    return (
        Section((beat("town.school", x=x), beat("town.bridges", x=x))),
        *asides(desk, x.name),
        *scenes(desk, "place", x, 5),
        Section((beat("voice.place", place=x), beat("town.close", x=x)), core=True),
    )


def _asks(x: Place) -> tuple[Ask, ...]:
    first, last = x.censuses[0], x.censuses[1]
    asks = [
        look("which", "q.town.river", "town.lead", x.river, x=x),
        look("how far", "q.town.away", "town.away", x.away, "number", x=x),
        look("when", "q.town.founded", "town.founded", x.founded, "year", x=x),
        look("who", "q.town.founder", "town.founded", x.founder, x=x),
        look("which", "q.town.market", "town.market", x.market, x=x),
        look("which", "q.town.trade", "town.trade", x.trade.goods, x=x),
        look("how many", "q.town.pupils", "town.school", x.pupils, "number", x=x),
        work_out(
            "difference",
            "q.town.grown" if last.value > first.value else "q.town.shrunk",
            abs(last.value - first.value),
            "number",
            Need("town.census:0", first.value, "number"),
            Need("town.census:1", last.value, "number"),
            x=x,
            first=first,
            last=last,
        ),
    ]
    for number, figure in enumerate(x.censuses):
        asks.append(
            look("how many", "q.town.census", f"town.census:{number}", figure.value, "number", x=x, figure=figure)
        )
    for number, mark in enumerate(x.landmarks):
        tag, facts = f"town.landmark:{number}", {"x": x, "mark": mark}
        asks.append(look("who", "q.town.builder", tag, mark.builder, **facts))
        asks.append(look("how much", "q.town.cost", tag, mark.cost, "money", **facts))
    one, two = x.landmarks[:2]
    needs = (Need("town.landmark:0", one.built, "year"), Need("town.landmark:1", two.built, "year"))
    asks.append(work_out("order", "q.town.order", one.name, "text", *needs, x=x, one=two, two=one))
    facts = {"x": x, "one": one, "two": two}
    asks.append(work_out("duration", "q.town.between", two.built - one.built, "number", *needs, **facts))
    for number, head in enumerate(x.heads):
        need = Need(f"town.head:{number}", head.start, "year")
        asks.append(Ask("who", "q.town.head", {"x": x, "head": head}, head.name, "text", (need,)))
    return tuple(asks)
