"""The content of each kind of article: lives, places, firms, events, chronicles and accounts."""

from collections.abc import Sequence

from fathom.documents.world.facts import Chronicle, Entry, Event, Firm, Ledger, Person, Place
from fathom.documents.world.outline import Ask, Context, Need, Outline, asides, beat, derived, scenes, stated
from fathom.documents.world.prose import Beat, Section

MONEY = ("takings", "claim")


def biography(context: Context, rank: int) -> Outline:
    """Outline the life of person ``rank`` of the cluster."""
    person = context.cluster.people[rank]
    subject = context.person(person.name, f"others.person.{person.name.sex}", trade=person.trade.worker)
    sections = (*_early(person), *_career(context, person), *_late(context, person))
    return Outline("biography", subject, {"p": person}, sections, _biography_asks(person))


def _early(p: Person) -> tuple[Section, ...]:
    return (
        Section((beat("bio.lead", p=p), beat("bio.birth", p=p)), core=True),
        Section((beat("bio.youth", p=p), beat("bio.apprentice", p=p), beat("bio.skill", p=p)), core=True),
        Section((beat("aside.place", place=p.birthplace), beat("aside.census", place=p.birthplace))),
    )


def _career(context: Context, p: Person) -> tuple[Section, ...]:
    sections = []
    for number, post in enumerate(p.posts):
        first = beat(f"bio.post:{number}", "bio.post.first" if number == 0 else "bio.post", post=post, p=p)
        more = (beat(f"bio.wage:{number}", post=post, p=p), beat("bio.toil", post=post, p=p))
        end = beat(f"bio.leave:{number}", post=post, p=p)
        sections.append(Section((first, *context.rng.sample(more, 1), end), core=number == 0))
        if number % 2:
            sections.extend(scenes(context, "person", post.place, 1))
    for firm in context.cluster.firms:
        if firm.founder == p.name:
            facts = {"f": firm, "p": p}
            rules = ("bio.founds", "bio.capital", "bio.firmlater")
            sections.append(Section(tuple(beat(rule, **facts) for rule in rules), core=True))
    sections += [Section((beat("bio.led", e=event),)) for event in context.cluster.events if event.leader == p.name]
    sections += [Section((beat("bio.built", h=work),)) for work in context.cluster.chronicles if work.master == p.name]
    for number, journey in enumerate(p.journeys):
        journey_beats = (beat(f"bio.journey:{number}", journey=journey), beat("bio.abroad", journey=journey))
        sections.append(Section(journey_beats))
    return tuple(sections)


def _late(context: Context, p: Person) -> tuple[Section, ...]:
    works = [
        Section((beat(f"bio.work:{number}", work=work), beat("bio.reception", work=work)), core=number == 0)
        for number, work in enumerate(p.works)
    ]
    awards = tuple(beat(f"bio.award:{number}", award=award) for number, award in enumerate(p.awards))
    return (
        Section((beat("bio.marriage", p=p), beat("bio.children", p=p)), core=True),
        *works,
        *asides(context, p.name),
        *scenes(context, "person", p.deathplace, 4),
        Section((beat("bio.character", p=p), beat("bio.habit", p=p), beat("voice.person", place=p.deathplace))),
        Section((*awards, beat("bio.modest", p=p))),
        Section((beat("bio.death", p=p), beat("bio.estate", p=p), beat("bio.legacy", p=p)), core=True),
    )


def _biography_asks(p: Person) -> tuple[Ask, ...]:
    asks = [
        stated("when", "q.bio.born", "bio.birth", p.born, "date", p=p),
        stated("where", "q.bio.birthplace", "bio.birth", p.birthplace.name, p=p),
        stated("who", "q.bio.teacher", "bio.apprentice", p.teacher, p=p),
        stated("when", "q.bio.apprenticed", "bio.apprentice", p.apprenticed, "year", p=p),
        stated("who", "q.bio.spouse", "bio.marriage", p.spouse, p=p),
        stated("how many", "q.bio.children", "bio.children", p.children, "number", p=p),
        stated("how much", "q.bio.estate", "bio.estate", p.estate, "money", p=p),
        stated("where", "q.bio.deathplace", "bio.death", p.deathplace.name, p=p),
        derived(
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
        asks.append(stated("which", "q.bio.role", tag, post.role, **facts))
        asks.append(stated("when", "q.bio.post_start", tag, post.start, "year", **facts))
        asks.append(stated("how much", "q.bio.wage", f"bio.wage:{number}", post.wage, "money", **facts))
    for number, work in enumerate(p.works):
        asks.append(stated("when", "q.bio.work", f"bio.work:{number}", work.year, "year", p=p, work=work))
    for number, award in enumerate(p.awards):
        asks.append(stated("when", "q.bio.award", f"bio.award:{number}", award.year, "year", p=p, award=award))
    for number, journey in enumerate(p.journeys):
        tag = f"bio.journey:{number}"
        asks.append(stated("how long", "q.bio.journey", tag, journey.weeks, "number", p=p, journey=journey))
    first = p.works[0]
    needs = (Need("bio.work:0", first.year, "year"), Need("bio.marriage", p.married, "year"))
    if first.year != p.married.year:
        rule = "q.bio.order.work" if first.year < p.married.year else "q.bio.order.wedding"
        asks.append(Ask("order", "q.bio.order", {"p": p, "work": first}, rule, "rule", needs))
    return tuple(asks)


def portrait(context: Context, rank: int) -> Outline:
    """Outline the portrait of place ``rank`` of the cluster."""
    place = context.cluster.places[rank]
    subject = context.thing(place.full, place.name, "others.place", kind=place.kind)
    sections = (*_land(context, place), *_people(context, place), *_today(context, place))
    return Outline("portrait", subject, {"x": place}, sections, _portrait_asks(place))


def _land(context: Context, x: Place) -> tuple[Section, ...]:
    first, *later = x.censuses
    rows = [beat("town.census:0", "town.census.first", figure=first)]
    rows += [beat(f"town.census:{number}", "town.census", figure=figure) for number, figure in enumerate(later, 1)]
    return (
        Section((beat("town.lead", x=x), beat("town.away", x=x), beat("scene.river", place=x)), core=True),
        Section((beat("town.founded", x=x), beat("town.legend", x=x)), core=True),
        Section((beat("town.trade", x=x), beat("town.market", x=x), beat("scene.market", place=x)), core=True),
        Section(tuple(rows[:2]), core=True),
        Section((*rows[2:], beat("town.growth", x=x))),
        *scenes(context, "place", x, 2),
    )


def _people(context: Context, x: Place) -> tuple[Section, ...]:
    cluster = context.cluster
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


def _today(context: Context, x: Place) -> tuple[Section, ...]:
    return (
        Section((beat("town.school", x=x), beat("town.bridges", x=x))),
        *asides(context, x.name),
        *scenes(context, "place", x, 5),
        Section((beat("voice.place", place=x), beat("town.close", x=x)), core=True),
    )


def _portrait_asks(x: Place) -> tuple[Ask, ...]:
    first, last = x.censuses[0], x.censuses[1]
    asks = [
        stated("which", "q.town.river", "town.lead", x.river, x=x),
        stated("how far", "q.town.away", "town.away", x.away, "number", x=x),
        stated("when", "q.town.founded", "town.founded", x.founded, "year", x=x),
        stated("who", "q.town.founder", "town.founded", x.founder, x=x),
        stated("which", "q.town.market", "town.market", x.market, x=x),
        stated("which", "q.town.trade", "town.trade", x.trade.goods, x=x),
        stated("how many", "q.town.pupils", "town.school", x.pupils, "number", x=x),
        derived(
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
            stated("how many", "q.town.census", f"town.census:{number}", figure.value, "number", x=x, figure=figure)
        )
    for number, mark in enumerate(x.landmarks):
        tag, facts = f"town.landmark:{number}", {"x": x, "mark": mark}
        asks.append(stated("who", "q.town.builder", tag, mark.builder, **facts))
        asks.append(stated("how much", "q.town.cost", tag, mark.cost, "money", **facts))
    earlier, later = x.landmarks[:2]
    needs = (Need("town.landmark:0", earlier.built, "year"), Need("town.landmark:1", later.built, "year"))
    asks.append(derived("order", "q.town.order", earlier.name, "text", *needs, x=x, one=later, two=earlier))
    facts = {"x": x, "one": earlier, "two": later}
    asks.append(derived("duration", "q.town.between", later.built - earlier.built, "number", *needs, **facts))
    for number, head in enumerate(x.heads):
        need = Need(f"town.head:{number}", head.start, "year")
        asks.append(Ask("who", "q.town.head", {"x": x, "head": head}, head.name, "text", (need,)))
    return tuple(asks)


def firm_history(context: Context, rank: int) -> Outline:
    """Outline the history of firm ``rank`` of the cluster."""
    firm = context.cluster.firms[rank]
    subject = context.thing(firm.full, firm.name, "others.firm", house=firm.trade.house)
    founder = next(person for person in context.cluster.people if person.name == firm.founder)
    sections = (
        Section((beat("firm.lead", f=firm), beat("firm.founded", f=firm)), core=True),
        Section((beat("firm.founder", f=firm, p=founder), beat("firm.partner", f=firm)), core=True),
        Section((beat("firm.room", f=firm), beat("firm.goods", f=firm), beat("firm.capital", f=firm)), core=True),
        *_growth(context, firm),
        *_fortunes(context, firm),
    )
    return Outline("firm", subject, {"f": firm, "last": firm.revenue[-1]}, sections, _firm_history_asks(firm))


def _growth(context: Context, f: Firm) -> tuple[Section, ...]:
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
        *scenes(context, "firm", f.seat, 2),
        Section((*money[7:11], beat("firm.books", f=f))),
        Section((*money[11:],)),
    )


def _fortunes(context: Context, f: Firm) -> tuple[Section, ...]:
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
        *asides(context, f.founder, f.name),
        *scenes(context, "firm", f.seat, 5),
        Section((beat("voice.firm", place=f.seat), beat("firm.closed", f=f), beat("firm.after", f=f)), core=True),
    )


def _firm_history_asks(f: Firm) -> tuple[Ask, ...]:
    asks = [
        stated("when", "q.firm.founded", "firm.founded", f.founded, "date", f=f),
        stated("who", "q.firm.founder", "firm.founded", f.founder, f=f),
        stated("who", "q.firm.partner", "firm.partner", f.partner, f=f),
        stated("how much", "q.firm.capital", "firm.capital", f.capital, "money", f=f),
        stated("when", "q.firm.fire", "firm.fire", f.fire, "date", f=f),
        stated("how much", "q.firm.damage", "firm.fire", f.damage, "money", f=f),
        stated("when", "q.firm.closed", "firm.closed", f.closed, "year", f=f),
        derived(
            "duration",
            "q.firm.age",
            f.closed - f.founded.year,
            "number",
            Need("firm.founded", f.founded, "year"),
            Need("firm.closed", f.closed, "year"),
            f=f,
        ),
        derived(
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
            stated("how much", "q.firm.revenue", f"firm.revenue:{number}", figure.value, "money", f=f, figure=figure)
        )
    for number, figure in enumerate(f.hands):
        asks.append(
            stated("how many", "q.firm.hands", f"firm.hands:{number}", figure.value, "number", f=f, figure=figure)
        )
    for number, branch in enumerate(f.branches):
        tag, facts = f"firm.branch:{number}", {"f": f, "branch": branch}
        asks.append(stated("where", "q.firm.branch", tag, branch.place.name, **facts))
    return (*asks, *_compared(f))


def _compared(f: Firm) -> tuple[Ask, ...]:
    """Questions that compare the revenue of two years."""
    first, second = f.revenue[:2]
    needs = (Need("firm.revenue:0", first.value, "number"), Need("firm.revenue:1", second.value, "number"))
    facts = {"f": f, "one": first, "two": second}
    if first.value == second.value:
        return ()
    better = max(first, second, key=lambda figure: figure.value)
    return (
        derived("difference", "q.firm.revenue_change", abs(second.value - first.value), "money", *needs, **facts),
        derived("which", "q.firm.better_year", better.year, "year", *needs, **facts),
    )


def event_report(context: Context, rank: int) -> Outline:
    """Outline the report of event ``rank`` of the cluster."""
    event = context.cluster.events[rank]
    subject = context.thing(event.full, event.name, f"others.{event.kind}")
    ranked = sorted(event.shares, key=lambda share: -share.value)
    facts = {"e": event, "best": ranked[0], "next": ranked[1]}
    return Outline(event.kind, subject, facts, _event_report_sections(context, event), _event_report_asks(event))


def _event_report_sections(context: Context, e: Event) -> tuple[Section, ...]:
    kind, rng = e.kind, context.rng
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
        *scenes(context, "event", e.place, 2),
        Section((*shares[:3],), core=True),
        Section((*shares[3:], beat("voice.event", place=e.place))),
        *scenes(context, "event", e.place, 2),
        Section((beat(f"{kind}.turn", e=e), beat(f"{kind}.talk", e=e))),
        *asides(context, e.leader, e.name),
        Section((beat(f"{kind}.scene", e=e), beat(f"{kind}.remark", e=e))),
        *scenes(context, "event", rng.pick((e.place, e.other)), 5),
        Section((figures[2], beat("event.cost", e=e), beat("event.end", e=e)), core=True),
        Section((beat("voice.event", place=e.place), beat(f"{kind}.after", e=e)), core=True),
    )


def _event_report_asks(e: Event) -> tuple[Ask, ...]:
    kind = e.kind
    asks = [
        stated("when", "q.event.start", f"{kind}.lead", e.start, "date", e=e),
        stated("who", f"q.{kind}.leader", f"{kind}.leader", e.leader, e=e),
        stated("who", f"q.{kind}.second", f"{kind}.second", e.second, e=e),
        stated("how much", "q.event.cost", "event.cost", e.cost, "money", e=e),
        stated("when", "q.event.end", "event.end", e.end, "date", e=e),
        derived(
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
        asks.append(stated(asked, f"q.{kind}.{key}", f"{kind}.figure:{key}", value, how, e=e))
    for number, share in enumerate(e.shares):
        asks.append(
            stated("how many", f"q.{kind}.share", f"{kind}.share:{number}", share.value, "number", e=e, share=share)
        )
    first, second = e.shares[:2]
    needs = (Need(f"{kind}.share:0", first.value, "number"), Need(f"{kind}.share:1", second.value, "number"))
    facts = {"e": e, "one": first, "two": second}
    more = max(first, second, key=lambda share: share.value)
    asks.append(derived("which", f"q.{kind}.more", more.name, "text", *needs, **facts))
    asks.append(derived("difference", f"q.{kind}.gap", abs(first.value - second.value), "number", *needs, **facts))
    return tuple(asks)


def annals(context: Context, rank: int) -> Outline:
    """Outline chronicle ``rank`` of the cluster."""
    chronicle = context.cluster.chronicles[rank]
    subject = context.thing(chronicle.full, chronicle.name, "others.chronicle", kind=chronicle.kind)
    facts = {"h": chronicle, "first": chronicle.steps[0], "last": chronicle.steps[-1]}
    return Outline("chronicle", subject, facts, _annals_sections(context, chronicle), _annals_asks(chronicle))


def _annals_sections(context: Context, h: Chronicle) -> tuple[Section, ...]:
    sections = [Section((beat("chronicle.lead", h=h), beat("chronicle.master", h=h)), core=True)]
    beats = []
    for number, step in enumerate(h.steps):
        beats.append(beat(f"chronicle.step:{number}", f"step.{step.key}", step=step, h=h))
        if step.spent and context.rng.chance(0.4):
            beats.append(beat(f"chronicle.spent:{number}", "chronicle.spent", step=step, h=h))
        full = context.rng.between(2, 4)
        if len(beats) > full or step is h.steps[-1]:
            sections.append(Section(tuple(beats), core=True))
            beats = []
            if context.rng.chance(0.5):
                sections.extend(scenes(context, "event", h.place, 1))
    sections.append(Section((beat("aside.place", place=h.place), beat("aside.census", place=h.place))))
    sections.extend(asides(context, h.master, h.name))
    sections.extend(scenes(context, "event", h.place, 4))
    sections.append(Section((beat("chronicle.total", h=h), beat("chronicle.close", h=h)), core=True))
    return tuple(sections)


def _annals_asks(h: Chronicle) -> tuple[Ask, ...]:
    asks = [
        stated("who", "q.chronicle.master", "chronicle.master", h.master, h=h),
        stated("how much", "q.chronicle.total", "chronicle.total", h.cost, "money", h=h),
    ]
    for number, step in enumerate(h.steps):
        tag, facts = f"chronicle.step:{number}", {"h": h, "step": step}
        asks.append(stated("when", f"q.step.{step.key}", tag, step.day, "date", **facts))
    first, last = h.steps[0], h.steps[-1]
    ends = (Need("chronicle.step:0", first.day, "date"), Need(f"chronicle.step:{len(h.steps) - 1}", last.day, "date"))
    asks.append(derived("duration", "q.chronicle.days", (last.day - first.day).days, "number", *ends, h=h))
    for number in range(1, len(h.steps) - 2, 3):
        earlier, later = h.steps[number], h.steps[number + 2]
        needs = (
            Need(f"chronicle.step:{number}", earlier.day, "date"),
            Need(f"chronicle.step:{number + 2}", later.day, "date"),
        )
        slots = {"h": h, "one": f"step.name.{later.key}", "two": f"step.name.{earlier.key}"}
        asks.append(Ask("order", "q.chronicle.order", slots, f"step.name.{earlier.key}", "rule", needs))
    return tuple(asks)


def accounts(context: Context, rank: int) -> Outline:
    """Outline ledger ``rank`` of the cluster."""
    ledger = context.cluster.ledgers[rank]
    subject = context.thing(ledger.firm.full, ledger.firm.name, "others.firm", house=ledger.firm.trade.house)
    return Outline(
        "accounts",
        subject,
        {"a": ledger, "f": ledger.firm},
        _accounts_sections(context, ledger),
        _accounts_asks(ledger),
    )


def _accounts_sections(context: Context, a: Ledger) -> tuple[Section, ...]:
    half, third = len(a.receipts) // 2, len(a.payments) // 2
    facts = {"a": a, "f": a.firm}
    return (
        Section((beat("book.lead", **facts), beat("book.opening", **facts), beat("book.clerk", **facts)), core=True),
        Section(_narrated("receipt", a, a.receipts[:half], 0), core=True),
        Section(_listed("receipt", a, a.receipts[half:], half), core=True),
        Section((beat("book.income", **facts), beat("book.remark", **facts)), core=True),
        *scenes(context, "firm", a.firm.seat, 2),
        Section(_narrated("payment", a, a.payments[:third], 0), core=True),
        Section(_listed("payment", a, a.payments[third:], third), core=True),
        Section((beat("book.outlay", **facts), beat("firm.toil", **facts))),
        Section((beat("firm.room", **facts), beat("firm.goods", **facts))),
        Section((beat("aside.place", place=a.firm.seat), beat("aside.census", place=a.firm.seat))),
        *asides(context, a.firm.name),
        *scenes(context, "firm", a.firm.seat, 5),
        Section((beat("book.closing", **facts), beat("book.audit", **facts)), core=True),
        Section((beat("voice.firm", place=a.firm.seat), beat("book.close", **facts))),
    )


def _narrated(kind: str, a: Ledger, entries: Sequence[Entry], start: int) -> tuple[Beat, ...]:
    return tuple(
        beat(f"book.{kind}:{number}", f"book.{kind}", entry=entry, a=a) for number, entry in enumerate(entries, start)
    )


def _listed(kind: str, a: Ledger, entries: Sequence[Entry], start: int) -> tuple[Beat, ...]:
    lines = (beat(f"book.{kind}:{number}", "book.line", entry=entry) for number, entry in enumerate(entries, start))
    return (beat("list", f"book.list.{kind}", a=a), *lines)


def _accounts_asks(a: Ledger) -> tuple[Ask, ...]:
    facts = {"a": a, "f": a.firm}
    asks = [
        stated("how much", "q.book.opening", "book.opening", a.opening, "money", **facts),
        stated("how much", "q.book.closing", "book.closing", a.closing, "money", **facts),
        stated("who", "q.book.clerk", "book.clerk", a.clerk, **facts),
        stated("who", "q.book.auditor", "book.audit", a.auditor, **facts),
        stated("when", "q.book.audited", "book.audit", a.audited, "date", **facts),
        stated("how much", "q.book.income", "book.income", a.income, "money", **facts),
        derived(
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
            asks.append(stated("how much", f"q.book.{kind}", tag, entry.amount, "money", **slots))
            asks.append(stated("when", f"q.book.{kind}_day", tag, entry.day, "date", **slots))
    first, last = a.payments[0], a.payments[-1]
    needs = (
        Need("book.payment:0", first.amount, "number"),
        Need(f"book.payment:{len(a.payments) - 1}", last.amount, "number"),
    )
    more = max(first, last, key=lambda entry: entry.amount)
    asks.append(derived("which", "q.book.more", more.party, "text", *needs, one=first, two=last, **facts))
    return tuple(asks)
