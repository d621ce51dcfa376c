"""The chronicle of something built: a dated sequence of steps."""

from __future__ import annotations

from fathom.corpus.world.deeds import Chronicle
from fathom.corpus.world.outline import Ask, Desk, Need, Outline, asides, beat, look, scenes, work_out
from fathom.corpus.world.prose import Section


def annals(desk: Desk, rank: int) -> Outline:
    """Outline chronicle ``rank`` of the cluster."""
    chronicle = desk.cluster.chronicles[rank]
    subject = desk.thing(chronicle.full, chronicle.name, "others.chronicle", kind=chronicle.kind)
    facts = {"h": chronicle, "first": chronicle.steps[0], "last": chronicle.steps[-1]}
    return Outline("chronicle", subject, facts, _sections(desk, chronicle), _asks(chronicle))


def _sections(desk: Desk, h: Chronicle) -> tuple[Section, ...]:
    sections = [Section((beat("chronicle.lead", h=h), beat("chronicle.master", h=h)), core=True)]
    beats = []
    for number, step in enumerate(h.steps):
        beats.append(beat(f"chronicle.step:{number}", f"step.{step.key}", step=step, h=h))
        if step.spent and desk.dice.chance(0.4):
            beats.append(beat(f"chronicle.spent:{number}", "chronicle.spent", step=step, h=h))
        full = desk.dice.between(2, 4)
        if len(beats) > full or step is h.steps[-1]:
            sections.append(Section(tuple(beats), core=True))
            beats = []
            if desk.dice.chance(0.5):
                sections.extend(scenes(desk, "event", h.place, 1))
    sections.append(Section((beat("aside.place", place=h.place), beat("aside.census", place=h.place))))
    sections.extend(asides(desk, h.master, h.name))
    sections.extend(scenes(desk, "event", h.place, 4))
    sections.append(Section((beat("chronicle.total", h=h), beat("chronicle.close", h=h)), core=True))
    return tuple(sections)


def _asks(h: Chronicle) -> tuple[Ask, ...]:
    asks = [
        look("who", "q.chronicle.master", "chronicle.master", h.master, h=h),
        look("how much", "q.chronicle.total", "chronicle.total", h.cost, "money", h=h),
    ]
    for number, step in enumerate(h.steps):
        tag, facts = f"chronicle.step:{number}", {"h": h, "step": step}
        asks.append(look("when", f"q.step.{step.key}", tag, step.day, "date", **facts))
    first, last = h.steps[0], h.steps[-1]
    ends = (Need("chronicle.step:0", first.day, "date"), Need(f"chronicle.step:{len(h.steps) - 1}", last.day, "date"))
    asks.append(work_out("duration", "q.chronicle.days", (last.day - first.day).days, "number", *ends, h=h))
    for number in range(1, len(h.steps) - 2, 3):
        one, two = h.steps[number], h.steps[number + 2]
        needs = (
            Need(f"chronicle.step:{number}", one.day, "date"),
            Need(f"chronicle.step:{number + 2}", two.day, "date"),
        )
        slots = {"h": h, "one": f"step.name.{two.key}", "two": f"step.name.{one.key}"}
        asks.append(Ask("order", "q.chronicle.order", slots, f"step.name.{one.key}", "rule", needs))
    return tuple(asks)
