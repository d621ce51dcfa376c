"""Build configurations: everything that determines the content of a suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import floor
from pathlib import Path

from fathom.documents.corpus import Fields, is_world
from fathom.documents.sources.lock import LOCK, data_folder
from fathom.plugins.names import beside, unknown
from fathom.suites.registry import get_task, suite_name, suites, task_name, tasks
from fathom.suites.settings import BuildSettings
from fathom.tokens.length import format_length
from fathom.tokens.tokenizers import DEFAULT, is_at_hand
from fathom.types import Facet, FathomError, Grid, Role, Suite, Task

QA: tuple[Role, ...] = ("qa", "multi_qa")
SUMMARIES: tuple[Role, ...] = ("summary", "multi_summary")
NOISE: tuple[Role, ...] = ("news", "noise")
BOOKS: tuple[Role, ...] = ("book",)
GIVEN = {
    "book": "--books FOLDER with novels as text files",
    "thread": "--threads FILE with threads of Stack Exchange (a dump, or JSONL)",
    "case": "--cases FILE with published cases of BestAnswer",
    "record": "--data FOLDER with its data sets (`fathom data fetch` gets them)",
}
"""The options that give documents whose role no other documents can have."""
_ROUNDING = 1e-9
RECORDS: tuple[Role, ...] = ("record",)


@dataclass(frozen=True)
class BuildConfig:
    """Everything that determines the content of a suite; equal configurations give reproducible suites, byte for byte.

    Attributes:
        suite: Name of the suite, or the names of its tasks joined by commas.
        tasks: Task names.
        lengths: Lengths in tokens, ascending.
        items: Items per task and language.
        corpus: Corpus specifications: ``world``, folders or files.
        fields: Field names of the corpus files.
        seed: Seed of all random choices.
        depths: Relative depths of gold texts, in turn; empty for a random depth per item.
        languages: Languages of the prompts; empty for those of the corpus.
        exact: Whether to fill each budget to the last token.
        own: Corpus specifications of documents for certain roles only.
        questions: Tables of questions about the documents; see ``fathom.documents.corpus.questions``.
        errata: Files of faulty questions besides fathom's own, or ``none``; see ``fathom.documents.sources.errata``.
        threads: Dumps or JSONL files of Stack Exchange threads; see ``fathom.documents.corpus.stackexchange``.
        cases: Files with published cases of BestAnswer.
        data: Folders with the suite's data sources.
        sources: Names of the data sources for each role.
        closed_book: Whether to add closed-book questions.
        alone: Whether to add questions over their gold text alone, without distractors.
        padded: Share of the items that are also asked over their gold text among neutral text.
        unnamed: Whether questions about numbered passages are also asked without their numbers.
        common: Whether to build only items that fit every length.
        truncate: Lengths in tokens, ascending, to which prompts of the longest length are also truncated.
        prompts: Wording of the prompts: ``own``, or ``official`` for the authors', from ``data`` or ``templates``.
        templates: Copies of authors' repositories, and files of the user's, with prompts for ``official``.
        only: Names of the items to build; empty for all.
        where: Only samples with one of the given values of each facet; see ``fathom.suites.suitefile.is_where``.
        skip_bad: Whether to skip unusable rows of published records.
        grids: Items, lengths and depths of tasks with their own.
        each_length: Whether ``items`` is the number of published records of each length.
        dials: The values that items of generated tasks take in turn, by dial; see ``settings_of``.
        family: The folder of a private family (``fathom.world.private``); "" for the packaged names and forms.
    """

    suite: str
    tasks: tuple[str, ...]
    lengths: tuple[int, ...]
    items: int = 50
    tokenizer: str = DEFAULT
    corpus: tuple[str, ...] = ()
    fields: Fields = field(default_factory=Fields)
    seed: int = 0
    depths: tuple[float, ...] = ()
    languages: tuple[str, ...] = ()
    exact: bool = False
    own: tuple[tuple[tuple[Role, ...], str], ...] = ()
    questions: tuple[str, ...] = ()
    errata: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    sources: tuple[tuple[Role, tuple[str, ...]], ...] = ()
    closed_book: bool = False
    alone: bool = False
    padded: float = 0.0
    unnamed: bool = False
    common: bool = False
    truncate: tuple[int, ...] = ()
    prompts: str = "own"
    templates: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()
    skip_bad: bool = False
    grids: tuple[tuple[str, Grid], ...] = ()
    each_length: bool = False
    dials: tuple[tuple[str, tuple[str, ...]], ...] = ()
    family: str = ""

    def of(self, task: str) -> BuildConfig:
        """The configuration for one task, with its own items and lengths if it has any."""
        grid = dict(self.grids).get(task)
        return self if grid is None else replace(self, items=grid.items, lengths=grid.lengths)

    def depth_of(self, task: str, index: int) -> float | None:
        """The fixed depth of the gold text of an item; None if it is random."""
        grid = dict(self.grids).get(task)
        return grid.depths[index % len(grid.depths)] if grid and grid.depths else None

    def is_padded(self, index: int) -> bool:
        """Whether the item with this number is also asked over its gold text among neutral text."""
        return floor((index + 1) * self.padded + _ROUNDING) > floor(index * self.padded + _ROUNDING)

    def has_sources(self) -> bool:
        """Whether there are documents that errata can name: not only published records and the generated corpus."""
        roles = {role for role, _ in self.sources}
        specs = (*self.corpus, *(spec for _, spec in self.own))
        return bool(roles - set(RECORDS)) or not all(map(is_world, specs))

    def given(self) -> tuple[str, ...]:
        """All specifications of documents, as given."""
        return (*self.corpus, *(spec for _, spec in self.own), *self.threads, *self.cases, *self.data)


def configure(target: str, settings: BuildSettings) -> BuildConfig:
    """The build configuration for a suite or for tasks by name.

    Args:
        target: Name of a suite, or names of tasks joined by commas.
        settings: What the user wants of it; what is not given is the suite's value or the default.

    Raises:
        FathomError: The suite or task is unknown, or an option is invalid.
    """
    suite = suites().get(suite_name(target)) or _suite_of_tasks(target)
    data = settings.data
    lengths = suite.lengths if settings.lengths is None else settings.lengths
    if not lengths:
        raise FathomError("`lengths`: expected at least one length, for instance 2k,4k,8k")
    items = suite.items if settings.items is None else settings.items
    if items < 1:
        raise FathomError(f"`items` {items}: expected at least 1")
    if (truncate := settings.truncate) and max(truncate) >= max(lengths):
        raise FathomError(
            f"`truncate` {format_length(max(truncate))}: prompts of the longest length, {format_length(max(lengths))}, "
            "are truncated; choose lengths below it, or build longer prompts with `lengths`"
        )
    roles_of = ((QA, settings.qa), (SUMMARIES, settings.summaries), (NOISE, settings.noise), (BOOKS, settings.books))
    own = tuple((roles, spec) for roles, specs in roles_of for spec in specs or ())
    questions = settings.questions or ()
    if questions and not (settings.corpus or settings.qa):
        raise FathomError(f"`questions` {questions[0]}: name the documents that they are about with `corpus` FOLDER")
    asking = (task for task in map(get_task, suite.tasks) if task.pool and not set(QA).isdisjoint(task.gold))
    if questions and not any(asking):
        raise FathomError(f"`questions`: {suite.name} asks no questions; use for instance single_doc_qa")
    if data and not suite.sources:
        raise FathomError(f"`data`: {suite.name} has no data sources; give its documents with `corpus`")
    named = bool(settings.corpus or own or settings.threads or settings.cases or data)
    # Published records and threads are used in addition to a corpus, whose text fills the contexts of other tasks.
    beside = bool(suite.corpus) and set(suite.sources) == set(RECORDS)
    if not data and (beside or not (named or suite.corpus)) and suite.sources and (data_folder() / LOCK).is_file():
        data = (str(data_folder()),)  # from `fathom data fetch`
    filled = not own if beside else not (named or data)  # by the suite's own corpus
    if not (named or data or suite.corpus) and not all(get_task(name).documents for name in suite.tasks):
        raise FathomError(
            f"{suite.name}: no documents given; use `fathom build {suite.name}` {_wanted_of(suite)}; "
            "`fathom run` takes the folder that it writes"
        )
    return BuildConfig(
        suite=suite.name,
        tasks=suite.tasks,
        lengths=tuple(sorted(set(lengths))),
        items=items,
        tokenizer=settings.tokenizer or (suite.tokenizer if is_at_hand(suite.tokenizer) else DEFAULT),
        corpus=tuple(settings.corpus or (filter(None, [suite.corpus]) if filled else ())),
        fields=settings.fields or Fields(),
        seed=settings.seed,
        depths=tuple(sorted({round(depth, 4) for depth in settings.depths})),
        languages=tuple(dict.fromkeys(settings.languages or suite.languages)),
        exact=settings.exact,
        own=own,
        questions=tuple(questions),
        errata=tuple(settings.errata or ()),
        threads=tuple(settings.threads or ()),
        cases=tuple(settings.cases or ()),
        data=tuple(data or ()),
        sources=tuple((role, tuple(names)) for role, names in suite.sources.items()) if data else (),
        closed_book=suite.closed_book if settings.closed_book is None else settings.closed_book,
        alone=settings.alone,
        padded=settings.padded,
        unnamed=settings.unnamed,
        common=settings.common,
        truncate=tuple(sorted(set(truncate))),
        prompts=_checked(settings, suite),
        templates=tuple(settings.templates or ()),
        only=suite.only,
        where=tuple((name, tuple(values)) for name, values in (settings.where or {}).items()),
        skip_bad=settings.skip_bad,
        grids=_grids(suite, settings.lengths, settings.items),
        each_length=suite.each_length,
        dials=_checked_dials(settings.dials or {}, suite, items),
        family=_checked_family(settings, suite),
    )


def _checked_family(settings: BuildSettings, suite: Suite) -> str:
    if settings.family and not any(get_task(name).private for name in suite.tasks):
        raise FathomError(f"`family` {settings.family}: {suite.name} has no task of the suite world; leave it out")
    return str(settings.family or "")


def _checked_dials(
    chosen: Mapping[str, Sequence[str]], suite: Suite, items: int
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The dials that were chosen, each value of which some task takes."""
    tasks = list(map(get_task, suite.tasks))
    for name, values in chosen.items():
        dials = [task.dials[name] for task in tasks if name in task.dials]
        if not dials:
            known = ", ".join(sorted({name for task in tasks for name in task.dials})) or "none"
            raise FathomError(f"`dials` {name}: {suite.name} has no such dial; it has: {known}")
        for value in values:
            if all(dial.read(value) is None for dial in dials):
                taken = "; ".join(dict.fromkeys(map(str, dials)))
                raise FathomError(f"`dials` {name}={value}: expected {taken}")
    dials_chosen = tuple((name, tuple(dict.fromkeys(values))) for name, values in chosen.items())
    for task in tasks if chosen else ():
        if (needed := len(settings_of(task, dials_chosen))) > items:
            raise FathomError(
                f"`dials`: {task.name} has {needed} settings, of which {items} items cannot take all: choose fewer "
                f"values, or `items` {needed}"
            )
    return dials_chosen


def settings_of(task: Task, chosen: Sequence[tuple[str, Sequence[str]]]) -> list[Mapping[str, Facet]]:
    """The settings that the items of a task take in turn: all values of its dials with each other.

    Args:
        task: The task.
        chosen: Values by dial. Those that the task does not take are left out; a dial without any has its default.
    """
    values = dict(chosen)
    taken = {
        name: list(dict.fromkeys(value for text in values.get(name, ()) if (value := dial.read(text)) is not None))
        or [dial.default]
        for name, dial in task.dials.items()
    }
    return [dict(zip(taken, setting, strict=True)) for setting in product(*taken.values())]


def _grids(suite: Suite, lengths: Sequence[int] | None, items: int | None) -> tuple[tuple[str, Grid], ...]:
    """The grids of a suite's tasks, with the requested items and lengths; lengths beyond a grid's longest drop out."""
    return tuple(
        (
            name,
            replace(
                grid,
                lengths=grid.lengths if lengths is None else _within(lengths, grid.lengths[-1]),
                items=grid.items if items is None else items,
            ),
        )
        for name, grid in suite.grids.items()
        if name in suite.tasks
    )


def _within(lengths: Sequence[int], longest: int) -> tuple[int, ...]:
    """The lengths up to a task's longest; 32,000 and 32k (32,768) count as equal."""
    return tuple(length for length in sorted(set(lengths)) if 1000 * length <= 1024 * longest)


def _checked(given: BuildSettings, suite: Suite) -> str:
    prompts = given.prompts
    if given.templates and prompts != "official":
        raise FathomError(f"`templates` {given.templates[0]}: has no effect without `prompts` official")
    able = (task.gold == RECORDS or task.wording for task in map(get_task, suite.tasks))
    if prompts == "official" and not any(able):
        raise FathomError(f"`prompts` official: {suite.name} has no official prompts; leave it out")
    return prompts


def _wanted_of(suite: Suite) -> str:
    """The options that give a suite its documents."""
    if all(get_task(name).gold == RECORDS for name in suite.tasks):
        home = next((other.name for other in suites().values() if other.sources == suite.sources), suite.name)
        return f"--data FOLDER with its data sets (`fathom data fetch --suite {home}` gets them)"
    if set(suite.sources) - set(RECORDS):
        return (
            f"--data FOLDER with its data sets (`fathom data fetch --suite {suite.name}` gets them), --qa, --summaries "
            "and --noise with documents of your own, or --corpus world to try it"
        )
    return " and ".join(dict.fromkeys(_only_given(name) for name in suite.tasks if _only_given(name)))


def _only_given(task: str) -> str:
    """The option that gives a task its documents, if no other documents can have their role."""
    roles = get_task(task).gold
    return GIVEN.get(roles[0], "") if len(roles) == 1 else ""


def not_given(wanted: BuildConfig, task: Task) -> str:
    """The option that gives a task its documents, if none were given; else ""."""
    given = {"thread": wanted.threads, "case": wanted.cases, "record": wanted.data}
    return "" if len(task.gold) != 1 or given.get(task.gold[0], True) else GIVEN[task.gold[0]]


def _suite_of_tasks(names: str) -> Suite:
    """A suite of individual tasks at common lengths.

    Its corpus is ``world`` unless a task needs documents that ``world`` does not have.
    """
    wanted = tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not wanted:
        raise FathomError("name a suite or tasks to build (see `fathom list suites` and `fathom list tasks`)")
    if len(wanted) == 1 and "/" in wanted[0]:
        path = Path(wanted[0])
        raise FathomError(f"{path}: no such suite folder{beside(path) or '; `fathom build` writes one'}")
    if len(wanted) == 1 and task_name(wanted[0]) not in tasks():
        raise unknown("suite or task", wanted[0], {**suites(), **tasks()})
    known = tuple(dict.fromkeys(get_task(name).name for name in wanted))
    # Tasks of a suite with data sources can be built from them individually too.
    home = next((suite for suite in suites().values() if suite.sources and set(known) <= set(suite.tasks)), None)
    if home and set(home.sources) == set(RECORDS):  # records have fixed lengths
        corpus = "" if all(map(_only_given, known)) else home.corpus
        return replace(home, name=",".join(known), tasks=known, only=(), corpus=corpus)
    makes_all = all(get_task(name).documents for name in known)
    corpus = "" if makes_all or any(map(_only_given, known)) else "world"
    sources = home.sources if home else _records_of(known)
    return Suite(",".join(known), known, (2048, 4096, 8192), "", corpus=corpus, sources=sources)


def _records_of(names: Sequence[str]) -> Mapping[Role, tuple[str, ...]]:
    """The data sources of those of the tasks that use published records, from any suite."""
    sources: dict[str, None] = {}
    for name in names:
        if get_task(name).gold == RECORDS:
            home = next(
                (suite for suite in suites().values() if name in suite.tasks and "record" in suite.sources), None
            )
            sources.update(dict.fromkeys(home.sources["record"] if home else ()))
    return {"record": tuple(sources)} if sources else {}
