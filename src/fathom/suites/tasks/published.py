"""Shared code of tasks on published records, each a finished prompt with its answer.

A record is a document whose ``meta`` has ``dataset`` (the name of its data set in the benchmark) and ``id``. It appears
once in a build, at the smallest length that holds its prompt, in the order of its file.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

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
        """The records in the order of their file.

        Raises:
            FathomError: Two records have the same id.
        """
        candidates: dict[str, Candidate] = {}
        for record in resources.documents:
            if record.meta.get("dataset") == self.dataset:
                name = str(record.meta["id"])
                if name in candidates:
                    raise FathomError(
                        f"{candidates[name].document.source} and {record.source}: different records of {self.dataset} "
                        f"with the id {name!r}; `data` should name one copy"
                    )
                place = stands_at(self.prompt(record), record, resources)
                candidates[name] = Candidate(record, (whole_text(record),), lengths=(place,), name=name)
        return CandidatePool((), list(candidates.values()), shuffled=False, published=self.records)

    def plan(self, draw: Draw) -> Plan:
        """The prompt of one record."""
        assert draw.candidate is not None
        record = draw.candidate.document
        return natural(self.prompt(record), self.ending(record), even=True)


def asking(published: Published) -> tuple[Callable[[Resources], CandidatePool], Callable[[Draw], Plan]]:
    """The pool and the plan of a task on published records."""
    return partial(Published.pool, published), partial(Published.plan, published)
