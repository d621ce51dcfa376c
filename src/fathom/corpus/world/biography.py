"""The biography of a person."""

from __future__ import annotations

from fathom.corpus.world.facts import Person
from fathom.corpus.world.outline import Ask, Desk, Need, Outline, asides, beat, look, scenes, work_out
from fathom.corpus.world.prose import Section


def biography(desk: Desk, rank: int) -> Outline:
    """Outline the life of person ``rank`` of the cluster."""
    person = desk.cluster.people[rank]
    subject = desk.person(person.name, f"others.person.{person.name.sex}", trade=person.trade.worker)
    sections = (*_early(person), *_career(desk, person), *_late(desk, person))
    return Outline("biography", subject, {"p": person}, sections, _asks(person))


def _early(p: Person) -> tuple[Section, ...]:
    return (
        Section((beat("bio.lead", p=p), beat("bio.birth", p=p)), core=True),
        Section((beat("bio.youth", p=p), beat("bio.apprentice", p=p), beat("bio.skill", p=p)), core=True),
        Section((beat("aside.place", place=p.birthplace), beat("aside.census", place=p.birthplace))),
    )


def _career(desk: Desk, p: Person) -> tuple[Section, ...]:
    sections = []
    for number, post in enumerate(p.posts):
        first = beat(f"bio.post:{number}", "bio.post.first" if number == 0 else "bio.post", post=post, p=p)
        more = (beat(f"bio.wage:{number}", post=post, p=p), beat("bio.toil", post=post, p=p))
        end = beat(f"bio.leave:{number}", post=post, p=p)
        sections.append(Section((first, *desk.dice.sample(more, 1), end), core=number == 0))
        if number % 2:
            sections.extend(scenes(desk, "person", post.place, 1))
    for firm in desk.cluster.firms:
        if firm.founder == p.name:
            facts = {"f": firm, "p": p}
            rules = ("bio.founds", "bio.capital", "bio.firmlater")
            sections.append(Section(tuple(beat(rule, **facts) for rule in rules), core=True))
    sections += [Section((beat("bio.led", e=event),)) for event in desk.cluster.events if event.leader == p.name]
    sections += [Section((beat("bio.built", h=work),)) for work in desk.cluster.chronicles if work.master == p.name]
    for number, journey in enumerate(p.journeys):
        told = (beat(f"bio.journey:{number}", journey=journey), beat("bio.abroad", journey=journey))
        sections.append(Section(told))
    return tuple(sections)


def _late(desk: Desk, p: Person) -> tuple[Section, ...]:
    works = [
        Section((beat(f"bio.work:{number}", work=work), beat("bio.reception", work=work)), core=number == 0)
        for number, work in enumerate(p.works)
    ]
    awards = tuple(beat(f"bio.award:{number}", award=award) for number, award in enumerate(p.awards))
    return (
        Section((beat("bio.marriage", p=p), beat("bio.children", p=p)), core=True),
        *works,
        *asides(desk, p.name),
        *scenes(desk, "person", p.deathplace, 4),
        Section((beat("bio.character", p=p), beat("bio.habit", p=p), beat("voice.person", place=p.deathplace))),
        Section((*awards, beat("bio.modest", p=p))),
        Section((beat("bio.death", p=p), beat("bio.estate", p=p), beat("bio.legacy", p=p)), core=True),
    )


def _asks(p: Person) -> tuple[Ask, ...]:
    asks = [
        look("when", "q.bio.born", "bio.birth", p.born, "date", p=p),
        look("where", "q.bio.birthplace", "bio.birth", p.birthplace.name, p=p),
        look("who", "q.bio.teacher", "bio.apprentice", p.teacher, p=p),
        look("when", "q.bio.apprenticed", "bio.apprentice", p.apprenticed, "year", p=p),
        look("who", "q.bio.spouse", "bio.marriage", p.spouse, p=p),
        look("how many", "q.bio.children", "bio.children", p.children, "number", p=p),
        look("how much", "q.bio.estate", "bio.estate", p.estate, "money", p=p),
        look("where", "q.bio.deathplace", "bio.death", p.deathplace.name, p=p),
        work_out(
            "duration",
            "q.bio.married_after",
            p.married.year - p.born.year,
            "number",
            Need("bio.birth", p.born, "year"),
            Need("bio.marriage", p.married, "year"),
            p=p,
        ),
    ]
    for number, post in enumerate(p.posts):
        tag, facts = f"bio.post:{number}", {"p": p, "post": post}
        asks.append(look("which", "q.bio.role", tag, post.role, **facts))
        asks.append(look("when", "q.bio.post_start", tag, post.start, "year", **facts))
        asks.append(look("how much", "q.bio.wage", f"bio.wage:{number}", post.wage, "money", **facts))
    for number, work in enumerate(p.works):
        asks.append(look("when", "q.bio.work", f"bio.work:{number}", work.year, "year", p=p, work=work))
    for number, award in enumerate(p.awards):
        asks.append(look("when", "q.bio.award", f"bio.award:{number}", award.year, "year", p=p, award=award))
    for number, journey in enumerate(p.journeys):
        tag = f"bio.journey:{number}"
        asks.append(look("how long", "q.bio.journey", tag, journey.weeks, "number", p=p, journey=journey))
    first = p.works[0]
    needs = (Need("bio.work:0", first.year, "year"), Need("bio.marriage", p.married, "year"))
    if first.year != p.married.year:
        rule = "q.bio.order.work" if first.year < p.married.year else "q.bio.order.wedding"
        asks.append(Ask("order", "q.bio.order", {"p": p, "work": first}, rule, "rule", needs))
    return tuple(asks)
