"""The balanced design: which samples are wanted and missing, and which are drawn for audits and ratings."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, TypeAlias

from fathom.benchmarks.pro.secondary_tasks import BY_NAME, LANGUAGES, LENGTHS, SECONDARY
from fathom.storage.validation import Amount, Count, Items, Text, parsed, read_toml
from fathom.studio.histories import History
from fathom.studio.states import DONE
from fathom.studio.tasks import StudioTask, find_task
from fathom.studio.types import STATES, State
from fathom.tokens.length import format_length, parse_length
from fathom.types import FathomError

CellKey: TypeAlias = tuple[str, str, int]
"""Task, language, length bucket in tokens."""
FILE = "design.toml"
_Length: TypeAlias = Annotated[Count, parsed(parse_length)]
PROPOSED = 5
"""Drafts that are proposed at once."""


@dataclass(frozen=True, slots=True)
class Design:
    """How many samples are wanted of each task, language and length, and what is checked; LongBench Pro's by default.

    Attributes:
        lengths: Length buckets in tokens.
        each: Samples of every combination.
        audit_one_in: One of so many accepted samples is audited; 0 for none.
        rate_one_in: One of so many accepted samples is rated in the quality study; 0 for none.
        raters: Ratings of each of them.
        seed: Seed of the draws and of intervals.
        hourly: Price of an hour of people's time in US dollars.
    """

    tasks: Items[Text] = tuple(task.name for task in SECONDARY)
    languages: Items[Text] = tuple(LANGUAGES.values())
    lengths: Items[_Length] = tuple(LENGTHS.values())
    each: Count = 5
    audit_one_in: Count = 5
    rate_one_in: Count = 10
    raters: Count = 3
    seed: Count = 0
    hourly: Amount = 0.0

    @property
    def total(self) -> int:
        """All samples that are wanted: 1,500 in the paper's design."""
        return len(self.tasks) * len(self.languages) * len(self.lengths) * self.each

    def cells(self) -> list[CellKey]:
        """All combinations, in order."""
        return [
            (task, language, length) for task in self.tasks for language in self.languages for length in self.lengths
        ]


def design_of(place: str, file: Path | None, tasks: Mapping[str, StudioTask]) -> Design:
    """The design of a studio.

    Args:
        place: Its store; the file ``design.toml`` in its folder is read by default.
        file: Another file.

    Raises:
        FathomError: The file cannot be read.
    """
    own = Path(place) / FILE
    if file is None and ("://" in place or not own.is_file()):
        return Design()
    return read_design(file or own, tasks)


def read_design(path: Path, tasks: Mapping[str, StudioTask]) -> Design:
    """A design from a TOML file with fields of ``Design``; those that it lacks have their defaults.

    Args:
        tasks: Tasks of the studio, which the file can name by their codes.

    Raises:
        FathomError: It cannot be read, a field is invalid, or a task is unknown.
    """
    design = read_toml(Design, path)
    for name in ("tasks", "languages", "lengths", "each", "raters"):
        if not getattr(design, name):
            raise FathomError(f"{path}: {name} is empty or 0; expected at least one, or leave it out")
    return replace(
        design,
        tasks=tuple(dict.fromkeys(find_task(tasks, name).name for name in design.tasks)),
        languages=tuple(dict.fromkeys(design.languages)),
        lengths=tuple(sorted(set(design.lengths))),
    )


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of a design, or one beyond it.

    Attributes:
        bucket: Length bucket in tokens.
        wanted: Samples wanted; 0 for a combination that is not in the design.
        states: Samples in each state that has some.
    """

    task: str
    language: str
    bucket: int
    wanted: int
    states: Mapping[State, int]

    @property
    def done(self) -> int:
        """Samples accepted or audited."""
        return sum(count for state, count in self.states.items() if state in DONE)

    @property
    def under_way(self) -> int:
        """Samples that are neither accepted nor rejected."""
        return sum(count for state, count in self.states.items() if state not in DONE and state != "rejected")

    @property
    def missing(self) -> int:
        """Samples still to be accepted."""
        return max(0, self.wanted - self.done)

    @property
    def to_begin(self) -> int:
        """Samples still to be begun if all those under way are accepted."""
        return max(0, self.missing - self.under_way)

    def as_record(self) -> dict[str, object]:
        """The combination for a table."""
        key = {"task": self.task, "language": self.language, "length": format_length(self.bucket)}
        counts = {name: getattr(self, name) for name in ("wanted", "done", "under_way", "missing", "to_begin")}
        return key | counts | {state: self.states.get(state, 0) for state in STATES}


def progress(design: Design, histories: Iterable[History]) -> tuple[Cell, ...]:
    """What there is of every combination: those of the design in its order, then others.

    Args:
        design: What is wanted.
        histories: All samples, in any state.
    """
    counts = Counter((cell_of(history), history.state) for history in histories)
    wanted = design.cells()
    states_of: dict[CellKey, dict[State, int]] = {key: {} for key in wanted}
    for (key, state), count in sorted(counts.items()):
        if key in states_of or state != "rejected":
            states_of.setdefault(key, {})[state] = count
    return tuple(
        Cell(*key, design.each if place < len(wanted) else 0, states)
        for place, (key, states) in enumerate(states_of.items())
    )


def cell_of(sample: History) -> CellKey:
    """The combination that a sample belongs to."""
    return sample.task, sample.language, sample.bucket


def next_drafts(cells: Iterable[Cell], documents: Mapping[tuple[str, int], int]) -> list[list[str]]:
    """Commands for the combinations of which most is to begin, as words without the models.

    Args:
        documents: Number of available documents by language and length; nothing can be drafted without one.
    """
    able = [cell for cell in cells if cell.to_begin and documents.get((cell.language, cell.bucket))]
    able.sort(key=lambda cell: -cell.to_begin)
    return [
        [
            *("fathom", "studio", "draft", "--task", BY_NAME[cell.task].code if cell.task in BY_NAME else cell.task),
            *("--language", cell.language, "--bucket", format_length(cell.bucket), "--samples", str(cell.to_begin)),
        ]
        for cell in able[:PROPOSED]
    ]


def draw(
    histories: Iterable[History], one_in: int, key: str, cell: Callable[[History], tuple[Hashable, ...]] = cell_of
) -> list[History]:
    """One of so many samples that were ever accepted, spread evenly over tasks, languages and lengths.

    Of every ``one_in`` samples of a combination that are accepted one after the other, one is drawn. Which one differs
    from combination to combination, so that those with few samples add up to even numbers too. Whether a sample is
    drawn depends on those accepted before it only, so it stays drawn; and each is drawn with the same probability.

    Args:
        one_in: One of so many; 0 for none.
        key: Names the draw; another key draws others.

    Returns:
        The samples, in the order in which they were accepted first.
    """
    accepted = sorted((history for history in histories if history.accepted), key=lambda history: history.accepted)
    return list(_drawn(accepted, one_in, key, cell)) if one_in else []


def _drawn(
    accepted: Iterable[History], one_in: int, key: str, cell: Callable[[History], tuple[Hashable, ...]]
) -> Iterator[History]:
    seen: Counter[tuple[Hashable, ...]] = Counter()
    numbers: dict[tuple[int, Hashable], int] = {}  # of tasks, languages and lengths, by their first appearance
    sizes: Counter[int] = Counter()
    for history in accepted:
        own = cell(history)
        for margin in enumerate(own):
            if margin not in numbers:
                numbers[margin] = sizes[margin[0]]
                sizes[margin[0]] += 1
        block, turn = divmod(seen[own], one_in)
        seen[own] += 1
        shift = sum(numbers[margin] for margin in enumerate(own))
        if (turn + shift) % one_in == _random(f"{key}|{block}", one_in):
            yield history


def _random(key: str, size: int) -> int:
    return int.from_bytes(blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") % size
