"""Notes of a build on its items: their number, their lengths, and prompts that could not be truncated."""

from __future__ import annotations

import textwrap
from collections import Counter as Tally
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fathom.plugins.names import first_of
from fathom.printing import several
from fathom.suites.build.config import BuildConfig
from fathom.suites.registry import suites
from fathom.suites.suitefile import LEFT_OUT
from fathom.tokens.length import format_length
from fathom.tokens.tokenizers import DEFAULT
from fathom.types import CandidatePool, LeftOut, Resources, Sample, Task

SHOWN = 3  # tasks listed if many share a note, and questions that are not asked
QUOTED = 80  # characters of a question in a note
ADVICE = {
    "questions with answers": ". Give a table of questions about the documents with `questions` FILE, or have a model "
    "draft them (`fathom draft`)",
    "a summary of each document": ". Name the field that has it, as in `corpus` FILE.jsonl?summary=FIELD",
}
"""What to do about documents without what a task needs."""


def counted_otherwise(wanted: BuildConfig) -> list[str]:
    """A note if lengths are counted by the default tokenizer although the suite has its own."""
    own = (suite.tokenizer for suite in suites().values() if suite.tokenizer and set(wanted.tasks) <= set(suite.tasks))
    name = next(own, "")
    if not name or wanted.tokenizer != DEFAULT:
        return []
    return [
        f"lengths are counted in tokens of {DEFAULT}, which is included in fathom; to count them as in the paper, use "
        f"--tokenizer {name}, which downloads that tokenizer once, or --tokenizer PATH with a local copy"
    ]


def short(wanted: BuildConfig, task: Task, resources: Resources, made: int) -> list[str]:
    """A note if there are fewer items than requested, or none."""
    possible = number_named(wanted, task) if wanted.only else wanted.items
    if made >= possible:
        return []
    where = f"in language {resources.language!r}"
    if made:
        everywhere = " at every length" if wanted.common else ""
        why = f"the corpus has no more ({task.needs})" if task.needs else "the others do not fit"
        return [f"{task.name}: {made} of {possible} items {where}{everywhere}; {why}"]
    texts = f"texts that fit a prompt of {format_length(wanted.lengths[0])} tokens"
    if wanted.common:
        texts = "texts that fill prompts of every length"
    advice = ADVICE.get(task.needs, "") if wanted.corpus and not wanted.questions else ""
    needs = f"{task.needs}, and {texts}" if task.needs else texts
    return [f"{task.name}: skipped {where}: no usable document; the task needs {needs}{advice}"]


def questions_left_out(task: Task, left_out: Sequence[LeftOut]) -> list[str]:
    """Notes on the first questions of the user's documents that a task does not ask, and where all are."""
    own = [each for each in left_out if not each.document.startswith("world:")][:SHOWN]  # nobody mends generated ones
    notes = [
        f'{task.name}: not asked: "{textwrap.shorten(each.question, QUOTED, placeholder="...")}" ({each.document}): '
        f"{each.reason}"
        for each in own
    ]
    more, word = len(left_out) - len(own), "more " if own else ""
    counted = several(more, f"{word}question is", f"{word}questions are")
    return notes + ([f"{task.name}: {counted} not asked, see {LEFT_OUT}"] if more > 0 else [])


def not_drawn(wanted: BuildConfig, task: Task, pool: CandidatePool, drawn: int) -> list[str]:
    """A note if a build with a table of questions has items for some of them only."""
    left = sum(len(candidate.questions) for candidate in pool.candidates or ()) - drawn
    if not wanted.questions or left <= 0:
        return []
    counted = several(left, "more question is", "more questions are")
    return [f"{task.name}: {counted} not asked: there are {wanted.items} items; `items` takes more"]


def missing(wanted: BuildConfig, task: Task, resources: Resources, items: int, stand: Mapping[int, int]) -> list[str]:
    """Notes on lengths that not all items can fill."""
    times = len(wanted.depths) if wanted.depths and task.positioned else 1
    possible = {length: stand.get(length, 0) // times for length in wanted.lengths}
    fewer = [f"{count or 'none'} at {format_length(length)}" for length, count in possible.items() if count < items]
    if not fewer:
        return []
    where = f"of {items} items in language {resources.language!r} there are"
    return [f"{task.name}: {where} {', '.join(fewer)}; the others have too little text for these lengths, or too much"]


def uncut(wanted: BuildConfig, task: Task, resources: Resources, asked: Mapping[int, int]) -> list[str]:
    """Notes on prompts that could not be truncated."""
    full = asked.get(wanted.lengths[-1], 0)
    if wanted.truncate and not full:
        longest = format_length(wanted.lengths[-1])
        return [f"{task.name}: nothing truncated in language {resources.language!r}: no prompt has {longest}"]
    return [
        f"{task.name}: {full - made} of {full} prompts in language {resources.language!r} cannot be truncated to "
        f"{format_length(length)}: the question is too long, or contains the text itself"
        for length in wanted.truncate
        if (made := asked.get(length, 0)) < full
    ]


@dataclass
class RecordCounts:
    """Counts of one task's records.

    Attributes:
        items: Items that were built.
        published: Requested items if all published data were available; None if unknown.
        lengths: Samples by length.
        cut: Samples by the length to which they had to be truncated.
        over: Samples by length whose prompt exceeds that length.
        bare: Closed-book samples.
        stated: Whether records have the length stated by their publishers, see ``CandidatePool``.
        elsewhere: Records whose stated length is not in the build.
    """

    items: int = 0
    published: int | None = None
    lengths: Tally[int] = field(default_factory=Tally)
    cut: Tally[int] = field(default_factory=Tally)
    over: Tally[int] = field(default_factory=Tally)
    bare: int = 0
    stated: bool = False
    elsewhere: int = 0

    def __add__(self, later: RecordCounts) -> RecordCounts:
        """The counts of both; the records of a task have one origin, which the later ones tell."""
        return RecordCounts(
            items=self.items + later.items,
            published=later.published,
            lengths=self.lengths + later.lengths,
            cut=self.cut + later.cut,
            over=self.over + later.over,
            bare=self.bare + later.bare,
            stated=later.stated,
            elsewhere=self.elsewhere + later.elsewhere,
        )

    def update(self, samples: Iterable[Sample]) -> None:
        """Count some samples, except for additional truncated prompts and controls."""
        for sample in samples:
            self.bare += not sample.length
            if sample.whole:
                self.lengths[sample.length] += 1
                self.cut[sample.length] += "whole_tokens" in sample.facets
                self.over[sample.length] += sample.tokens > sample.length


def published(wanted: BuildConfig, task: Task, pool: CandidatePool) -> int | None:
    """How many items of a task there would be if all published data were available; None if unknown."""
    if wanted.only:
        return number_named(wanted, task)
    if wanted.where or wanted.each_length:
        return None
    return None if pool.published is None else min(wanted.items, pool.published)


def number_named(wanted: BuildConfig, task: Task) -> int:
    """How many of the explicitly named items belong to a task."""
    return min(wanted.items, sum(name.startswith(f"{task.first_name}/") for name in wanted.only))


def about_records(notes: Sequence[str], wanted: BuildConfig, records: Mapping[str, RecordCounts]) -> list[str]:
    """The notes of a build, with notes shared by several tasks merged, and notes on records.

    Args:
        notes: The notes so far; those on a task start with its name.
        records: Counts of the tasks with published records, by name.
    """
    if not records:
        return list(notes)
    shared: dict[str, dict[str, None]] = {}  # names of tasks by note; other notes have no names
    for note in notes:
        name, _, text = note.partition(": ")
        if name in records:
            shared.setdefault(text, {})[name] = None
        else:
            shared.setdefault(note, {})
    merged = [f"{first_of(list(names), SHOWN)}: {text}" if names else text for text, names in shared.items()]
    return merged + _elsewhere(records) + _coverage(wanted, records) + _places(wanted, records)


def _elsewhere(records: Mapping[str, RecordCounts]) -> list[str]:
    """Notes on records whose stated length is not in the build."""
    counts = {name: standing.elsewhere for name, standing in records.items() if standing.elsewhere}
    if not counts:
        return []
    why = "records skipped, because the build lacks their stated length"
    return [f"{first_of(list(counts), SHOWN)}: {why}: {sum(counts.values()):,}"]


def _coverage(wanted: BuildConfig, records: Mapping[str, RecordCounts]) -> list[str]:
    """Notes on tasks with fewer records than were published and requested."""
    absent = [name for name, standing in records.items() if not standing.items]
    fewer = [
        f"{name} {standing.items} of {standing.published}"
        for name, standing in records.items()
        if standing.published is not None and 0 < standing.items < standing.published
    ]
    if wanted.common and absent:
        return [f"skipped, because a record has one length and --common needs all: {', '.join(absent)}"]
    partly = [f"the data lack some published records: {', '.join(fewer)}"] if fewer else []
    which = _asked_for(wanted, records, absent)
    none = [f"skipped, because the data have none of their records{which}"] if absent else []
    whole = [name for name, standing in records.items() if standing.items and not standing.bare]
    bare = [f"{first_of(whole, SHOWN)}: no closed-book prompt exists"] if wanted.closed_book else []
    return partly + none + (bare if whole else [])


def _asked_for(wanted: BuildConfig, records: Mapping[str, RecordCounts], absent: Sequence[str]) -> str:
    """Which records of some tasks were requested, and the names of these tasks."""
    lengths = " at these lengths" if any(records[name].elsewhere for name in absent) else ""
    if wanted.where:  # most are excluded intentionally
        return f"{lengths} that match --where: {first_of(absent, SHOWN)}"
    return f"{lengths}: {', '.join(absent)}"


def _places(wanted: BuildConfig, records: Mapping[str, RecordCounts]) -> list[str]:
    """Notes on the lengths of records, prompts that exceed them, and truncated prompts."""
    lengths, stated, over, cut = Tally[int](), Tally[int](), Tally[int](), Tally[int]()
    for standing in records.values():
        (stated if standing.stated else lengths).update(standing.lengths)
        over.update(standing.over if standing.stated else {})
        cut.update(standing.cut)
    notes = []
    if lengths:
        notes.append(f"each record is at the smallest length that holds its prompt: {_numbers(lengths)}")
    if stated:
        notes.append(f"each record is at its stated length: {_numbers(stated)}")
    if longer := +over:
        notes.append(f"prompts with more tokens ({wanted.tokenizer}) than their stated length: {_numbers(longer)}")
    if lost := +cut:
        where = ", ".join(f"{lost[length]} to {format_length(length)}" for length in sorted(lost))
        notes.append(f"prompts truncated in the middle because no length holds them: {where}")
    return notes


def _numbers(lengths: Mapping[int, int]) -> str:
    return ", ".join(f"{format_length(length)} {lengths[length]}" for length in sorted(lengths))
