"""Shared code of tasks on published records, each a finished prompt with its answer.

A record is a document whose ``meta`` has ``dataset`` (the name of its data set in the benchmark) and ``id``. It appears
once in a build, at the smallest length that holds its prompt, in the order of its file.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from fathom.printing import several
from fathom.suites.tasks import whole_text
from fathom.suites.tasks.natural import natural, stands_at
from fathom.types import Candidate, CandidatePool, Document, Draw, Ending, FathomError, Part, Plan, Resources


@dataclass(frozen=True)
class Published:
    """How the records of a data set are asked.

    Attributes:
        dataset: ``meta["dataset"]`` of its records.
        ending: The ending of a record; its question is the end of the prompt.
        before: The text before that of the record.
        records: Number of records published, if known.
    """

    dataset: str
    ending: Callable[[Document], Ending]
    before: Callable[[Document], str] = lambda record: ""
    records: int | None = None

    def prompt(self, record: Document) -> list[Part]:
        """The parts of the prompt of a record."""
        parts: Sequence[Part] = (self.before(record), whole_text(record), self.ending(record).question)
        return [part for part in parts if part]

    def pool(self, resources: Resources) -> CandidatePool:
        """See ``record_pool``."""
        return record_pool(resources, self.dataset, self.prompt, self.records)

    def plan(self, draw: Draw) -> Plan:
        """The prompt of one record."""
        assert draw.candidate is not None
        record = draw.candidate.document
        return natural(self.prompt(record), self.ending(record), even=True)


def asking(published: Published) -> tuple[Callable[[Resources], CandidatePool], Callable[[Draw], Plan]]:
    """The pool and the plan of a task on published records."""
    return partial(Published.pool, published), partial(Published.plan, published)


def record_pool(
    resources: Resources, dataset: str, prompt: Callable[[Document], Sequence[Part]], records: int | None
) -> CandidatePool:
    """The records of a data set in the order of their file, each at the smallest length that holds its prompt.

    Equal records are used once, and a note counts the others.

    Args:
        resources: The documents of the build.
        dataset: ``meta["dataset"]`` of the records.
        records: Number of records published, if known.

    Raises:
        FathomError: Two records have the same id and are not equal.
    """
    candidates: dict[str, Candidate] = {}
    copies = list[Document]()
    for record in resources.documents:
        if record.meta.get("dataset") != dataset:
            continue
        name = str(record.meta["id"])
        if name not in candidates:
            place = stands_at(prompt(record), record, resources)
            candidates[name] = Candidate(record, (whole_text(record),), lengths=(place,), name=name)
        elif (first := candidates[name].document) and (first.text, first.meta) == (record.text, record.meta):
            copies.append(record)
        else:
            raise FathomError(
                f"{first.source} and {record.source}: different records of {dataset} with the id {name!r}; remove the "
                "wrong one, or name one copy of the data set with `data`"
            )
    notes = tuple(
        f"{several(len(copies), 'record is', 'records are')} equal to an earlier one and used once, as {first.source}"
        for first in copies[:1]
    )
    return CandidatePool((), list(candidates.values()), notes, shuffled=False, published=records)
