"""What the notes of a build say of its items: how many there are, where they stand, and which could not be cut."""

from collections import Counter as Tally
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fathom.build.order import Order
from fathom.length import format_length
from fathom.registry import suites
from fathom.tokens import DEFAULT
from fathom.types import Sample, Scene, Stock, Task

SHOWN = 3  # tasks that are named where many have the same note


def counted_otherwise(wanted: Order) -> list[str]:
    """That lengths are counted in the default's tokens where the tasks' suite has a tokenizer of its own."""
    own = (suite.tokenizer for suite in suites().values() if suite.tokenizer and set(wanted.tasks) <= set(suite.tasks))
    name = next(own, "")
    if not name or wanted.tokenizer != DEFAULT:
        return []
    return [
        f"lengths are counted in tokens of {DEFAULT}, which comes with fathom; those of the paper are counted with "
        f"--tokenizer {name}, which downloads that tokenizer once, or with --tokenizer PATH of a copy"
    ]


def short(wanted: Order, task: Task, scene: Scene, made: int) -> list[str]:
    """That there are fewer items than were ordered, or none, for the notes."""
    there = named(wanted, task) if wanted.only else wanted.items
    if made >= there:
        return []
    where = f"in language {scene.language!r}"
    if made:
        everywhere = " at every length" if wanted.common else ""
        return [f"{task.name}: {made} of {there} items {where}{everywhere}; the corpus has no more ({task.needs})"]
    texts = f"texts that fit a prompt of {format_length(wanted.lengths[0])} tokens"
    if wanted.common:
        texts = "texts that fill prompts of every length"
    return [f"{task.name}: left out {where}: no document can be used; the task needs {task.needs}, and {texts}"]


def missing(wanted: Order, task: Task, scene: Scene, items: int, stand: Mapping[int, int]) -> list[str]:
    """How many items stand at each length that not all of them can fill, for the notes."""
    times = len(wanted.depths) if wanted.depths and task.positioned else 1
    there = {length: stand.get(length, 0) // times for length in wanted.lengths}
    fewer = [f"{format_length(length)} {count or 'none'}" for length, count in there.items() if count < items]
    if not fewer:
        return []
    where = f"of {items} items in language {scene.language!r}, as many as the texts can fill stand at"
    return [f"{task.name}: {where} {', '.join(fewer)}"]


def uncut(wanted: Order, task: Task, scene: Scene, asked: Mapping[int, int]) -> list[str]:
    """Which prompts could not be cut, for the notes."""
    full = asked.get(wanted.lengths[-1], 0)
    if wanted.truncate and not full:
        longest = format_length(wanted.lengths[-1])
        return [f"{task.name}: nothing is cut in language {scene.language!r}: no prompt stands at {longest}"]
    return [
        f"{task.name}: {full - there} of {full} prompts in language {scene.language!r} are not cut to "
        f"{format_length(length)}: what asks the question is too long, or holds the text itself"
        for length in wanted.truncate
        if (there := asked.get(length, 0)) < full
    ]


@dataclass
class Standing:
    """Where the records of one task stand.

    Attributes:
        items: Items that were made.
        published: Items that could be made of all that was published and is wanted; None where that is not known.
        lengths: Samples by length.
        cut: Samples by the length that they had to be cut to.
        over: Samples by length that have more tokens than that.
        bare: Samples that are questions without their text.
        stated: Whether records stand at the lengths that they state, see ``Stock``.
        elsewhere: Records that state lengths that the build has not.
    """

    items: int = 0
    published: int | None = None
    lengths: Tally[int] = field(default_factory=Tally)
    cut: Tally[int] = field(default_factory=Tally)
    over: Tally[int] = field(default_factory=Tally)
    bare: int = 0
    stated: bool = False
    elsewhere: int = 0

    def update(self, samples: Iterable[Sample]) -> None:
        """Count some samples; prompts that were also cut to be compared, and bare questions, aside."""
        for sample in samples:
            self.bare += not sample.length
            if sample.length and "cut_from" not in sample.facets:
                self.lengths[sample.length] += 1
                self.cut[sample.length] += "whole_tokens" in sample.facets
                self.over[sample.length] += sample.tokens > sample.length


def published(wanted: Order, task: Task, stock: Stock) -> int | None:
    """How many items of a task an order would give if all that was published were at hand; None if nobody says."""
    if wanted.only:
        return named(wanted, task)
    if wanted.where:
        return None
    return None if stock.published is None else min(wanted.items, stock.published)


def named(wanted: Order, task: Task) -> int:
    """How many of the items that an order names are of a task."""
    return min(wanted.items, sum(name.startswith(f"{task.first_name}/") for name in wanted.only))


def about_records(notes: Sequence[str], wanted: Order, records: Mapping[str, Standing]) -> list[str]:
    """The notes of a build, in which those that several tasks share stand once, and what is to say of all records.

    Args:
        notes: The notes so far; those of a task begin with its name.
        wanted: What was built.
        records: By name, the tasks that are about published records.
    """
    if not records:
        return list(notes)
    shared: dict[str, dict[str, None]] = {}  # names of tasks by what is said of them; other notes have no names
    for note in notes:
        name, _, text = note.partition(": ")
        if name in records:
            shared.setdefault(text, {})[name] = None
        else:
            shared.setdefault(note, {})
    found = [f"{_listed(list(names))}: {text}" if names else text for text, names in shared.items()]
    return found + _elsewhere(records) + _coverage(wanted, records) + _places(wanted, records)


def _elsewhere(records: Mapping[str, Standing]) -> list[str]:
    """How many records state lengths that the build has not."""
    counts = {name: standing.elsewhere for name, standing in records.items() if standing.elsewhere}
    if not counts:
        return []
    why = "records left out, because the build has not the lengths that they state"
    return [f"{_listed(list(counts))}: {why}: {sum(counts.values()):,}"]


def _coverage(wanted: Order, records: Mapping[str, Standing]) -> list[str]:
    """Which tasks have fewer records than were published and are wanted."""
    absent = [name for name, standing in records.items() if not standing.items]
    fewer = [
        f"{name} {standing.items} of {standing.published}"
        for name, standing in records.items()
        if standing.published is not None and 0 < standing.items < standing.published
    ]
    if wanted.common and absent:
        return [f"left out, because a record stands at one length and --common wants all: {', '.join(absent)}"]
    partly = [f"not all that was published is in the data: {', '.join(fewer)}"] if fewer else []
    which = _asked_for(wanted, records, absent)
    none = [f"left out, because the data hold none of their records{which}"] if absent else []
    whole = [name for name, standing in records.items() if standing.items and not standing.bare]
    bare = [f"{_listed(whole)}: not asked without the text, for which there is no prompt"] if wanted.closed_book else []
    return partly + none + (bare if whole else [])


def _asked_for(wanted: Order, records: Mapping[str, Standing], absent: Sequence[str]) -> str:
    """What was asked for of the records of some tasks, and the names of these tasks."""
    lengths = " at these lengths" if any(records[name].elsewhere for name in absent) else ""
    if wanted.where:  # it is meant to leave out most of them
        return f"{lengths} that --where asks for: {_listed(absent)}"
    return f"{lengths}: {', '.join(absent)}"


def _places(wanted: Order, records: Mapping[str, Standing]) -> list[str]:
    """At which lengths records stand, which have more tokens than that, and which had to be cut."""
    lengths, stated, over, cut = Tally[int](), Tally[int](), Tally[int](), Tally[int]()
    for standing in records.values():
        (stated if standing.stated else lengths).update(standing.lengths)
        over.update(standing.over if standing.stated else {})
        cut.update(standing.cut)
    found = []
    if lengths:
        found.append(f"each record stands at the smallest length that holds its prompt: {_numbers(lengths)}")
    if stated:
        found.append(f"each record stands at the length that it states: {_numbers(stated)}")
    if longer := +over:
        found.append(
            f"prompts with more tokens ({wanted.tokenizer}) than the length that they state: {_numbers(longer)}"
        )
    if lost := +cut:
        where = ", ".join(f"{lost[length]} to {format_length(length)}" for length in sorted(lost))
        found.append(f"prompts that lost their middle because no length holds them: {where}")
    return found


def _numbers(lengths: Mapping[int, int]) -> str:
    return ", ".join(f"{format_length(length)} {lengths[length]}" for length in sorted(lengths))


def _listed(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
