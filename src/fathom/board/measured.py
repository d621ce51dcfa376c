"""Entries of boards from rows: scores by task and length with their errors, usage, settings, single questions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.board.caveats import DROPPED, caveats, counted_lengths
from fathom.board.extras import extras_of
from fathom.board.facts import Facts, facts, hashed, merged, outcomes, usage
from fathom.board.means import by_length, items_of, mean_of, value_of
from fathom.board.model import Cell, Entry, Estimate, Items, Origin, OutcomeCounts
from fathom.board.results import About, Batch, Label
from fathom.plugins.names import system_name
from fathom.printing import several
from fathom.stats.columns import cluster_name
from fathom.stats.differences import system_key
from fathom.stats.intervals import Floats
from fathom.stats.outcomes import (
    ASKED_AGAIN_AT_MOST,
    CHOSEN,
    COUNTED,
    LOST,
    Unanswered,
    asked_again,
    counted,
    scored_rows,
    unmeasured,
)
from fathom.stats.side_rows import is_side_row
from fathom.stats.substitutes import substituted
from fathom.types import Json
from fathom.types.boards import Board

TITLES = {"measured": "measured with fathom", "submitted": "submitted as a bundle of results"}
_LINE = ["suite", "model", "variant"]
_ENDED = ("replies", *COUNTED)
"""The fields of ``OutcomeCounts``."""
_MARK = 6  # hexadecimal digits that distinguish questions of one name


@dataclass(frozen=True, slots=True)
class RowsOfEntry:
    """The rows of one entry of a board.

    Attributes:
        model: Name of the model.
        variant: What distinguishes its entries.
        labels: Labels of the rows; several suites with different tasks are one entry.
    """

    model: str
    variant: str
    labels: tuple[Label, ...]


@dataclass(slots=True)
class Measured:
    """The entries that rows give.

    Attributes:
        entries: Entries by the id of their board.
        notes: Caveats: suites without a board, missing replies.
    """

    entries: dict[str, list[Entry]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def measured(boards: Sequence[Board], batch: Batch, unanswered: Unanswered = "zero") -> Measured:
    """The entries that results add to boards.

    Args:
        batch: Results; published averages, closed-book questions and truncated prompts among them are skipped.
        unanswered: How unanswered replies count, see ``fathom.stats.outcomes``.
    """
    result, unknown = Measured(), dict[str, None]()
    base = pl.col("suite").str.split("#").list.first()
    known = {suite for board in boards for suite in board.suites}
    for part in batch.rows.parts():
        rows = part.filter(~is_side_row())
        for board in boards:
            own = rows.filter(base.is_in(board.suites), pl.col("task").is_in(board.tasks))
            lines = _lines(own)
            if lines:
                entries = _entries(board, _numbered(own, lines, unanswered), lines, batch, unanswered)
                result.entries.setdefault(board.id, []).extend(entries)
        unknown |= dict.fromkeys(rows.filter(~base.is_in(known))["suite"].unique(maintain_order=True))
        result.notes += _missing(rows.filter(base.is_in(known)))
    result.notes[:0] = [f"suite {suite!r} is on no board: its results are left out" for suite in unknown]
    return result


def _missing(rows: pl.DataFrame) -> Iterator[str]:
    left = counted(rows).filter(pl.col("outcome").is_in(LOST))
    for (model, variant, task, outcome), part in left.group_by(
        "model", "variant", "task", "outcome", maintain_order=True
    ):
        why = next((text for text in part["detail"] if text), "unknown reason")
        name = system_name(str(model), str(variant))
        lost = "missing" if outcome == "missing" else "not scored"
        yield f"{name}: {several(len(part), 'reply')} to {task} {lost}, so that it has no rank ({why})"


# Entries of rows


def _lines(rows: pl.DataFrame) -> list[RowsOfEntry]:
    """The entries of a board: suites with different tasks (sets that were run separately) are one entry of a model."""
    tasks: dict[Label, set[str]] = {}
    for suite, model, variant, task in rows.select(*_LINE, "task").unique(maintain_order=True).rows():
        tasks.setdefault((suite, model, variant), set()).add(task)
    groups: dict[tuple[str, str], list[list[Label]]] = {}
    for label, own in tasks.items():
        mine = groups.setdefault(label[1:], [])
        fitting = (group for group in mine if all(own.isdisjoint(tasks[other]) for other in group))
        group = next(fitting, None)
        if group is None:
            mine.append([label])
        else:
            group.append(label)
    return [
        RowsOfEntry(model, _variant(variant, group, len(mine)), tuple(group))
        for (model, variant), mine in groups.items()
        for group in mine
    ]


def _variant(variant: str, group: Sequence[Label], of: int) -> str:
    """The variant, with the suite if a model was asked different suites with the same tasks."""
    return variant if of == 1 else ", ".join(filter(None, (variant, f"suite {group[0][0]}")))


def _numbered(rows: pl.DataFrame, lines: Sequence[RowsOfEntry], unanswered: Unanswered) -> pl.DataFrame:
    """The rows with the number of their entry and a mark of their questions, and with the scores that count."""
    numbers = [(*label, number) for number, line in enumerate(lines) for label in line.labels]
    numbered = rows.join(pl.DataFrame(numbers, schema=[*_LINE, "line"], orient="row"), on=_LINE, maintain_order="left")
    targets = numbered["target"].unique().to_list()
    marks = pl.DataFrame(
        {"target": targets, "mark": [hashed(target) for target in targets]}, {"target": pl.String, "mark": pl.String}
    )
    return scored_rows(numbered.join(marks, on="target", maintain_order="left"), unanswered)


# Scores of entries


def _entries(
    board: Board, rows: pl.DataFrame, lines: Sequence[RowsOfEntry], batch: Batch, unanswered: Unanswered
) -> list[Entry]:
    scores, facts_of = _scores(board, rows, lines), facts(rows)
    took, ended = usage(rows), outcomes(rows)
    by_line = {int(str(key[0])): part for key, part in rows.partition_by("line", as_dict=True).items()}
    others = [substituted(by_line[number]) for number in range(len(lines))]
    entries = [
        Entry(
            model=line.model,
            variant=line.variant,
            origin=_origin(batch, line),
            cells=scores[number].cells,
            extras=extras_of(board, by_line[number]),
            settings=_settings(batch, line, facts_of[number]) | ({DROPPED: unanswered} if unanswered == "drop" else {}),
            usage=took[number],
            items=scores[number].items,
            outcomes=ended[number],
            partial=tuple(scores[number].partial),
            blank=tuple(scores[number].blank),
            substituted=tuple(others[number]),
        )
        for number, line in enumerate(lines)
    ]
    return [
        replace(entry, origin=replace(entry.origin, note=f"{_chosen(part)}{sentences}"))
        for number, entry in enumerate(entries)
        for part in (by_line[number],)
        for sentences in (caveats(board, entry, unmeasured(part), others[number]),)
    ]


def _chosen(rows: pl.DataFrame) -> str:
    """A sentence on replies that were asked for more than once, with a space; "" if they are few."""
    words = asked_again(rows, ASKED_AGAIN_AT_MOST)
    return f"{words.capitalize()}: {CHOSEN}. " if words else ""


@dataclass(frozen=True, slots=True, eq=False)
class _Answers:
    """The items of one task of an entry, at each length.

    Missing scores are NaN; ``others`` are those under the other choice of ``unanswered``, ``ended`` the numbers of
    replies of ``_ENDED``, of shape (items, 5), and ``groups`` the clusters of the items by name.
    """

    lengths: NDArray[np.int64]
    scores: Floats
    others: Floats
    ended: NDArray[np.int64]
    names: NDArray[np.object_]
    groups: Mapping[str, str]

    def at(self, lengths: NDArray[np.int64]) -> OutcomeCounts:
        """Outcomes of the replies at some lengths."""
        return OutcomeCounts(*self.ended[np.isin(self.lengths, lengths)].sum(axis=0).tolist())


@dataclass(slots=True)
class _Scores:
    """Cells and single questions of an entry, added task by task."""

    cells: dict[Cell, Estimate | None] = field(default_factory=dict)
    items: dict[Cell, Items] = field(default_factory=dict)
    blank: list[str] = field(default_factory=list)
    partial: list[str] = field(default_factory=list)

    def add(self, task: str, name: str, answers: _Answers, counted: Sequence[int]) -> None:
        """Adds the items of one task; ``counted`` are the lengths that its score is over, all if empty."""
        names, lengths, table = by_length(answers.names, answers.lengths, answers.scores)
        *_, others = by_length(answers.names, answers.lengths, answers.others)
        for place, length in enumerate(lengths.tolist()):
            if length:  # 0 in logs of other harnesses: the length is unknown
                own = lengths[place : place + 1]
                self._add_cell((task, length), name, (names, table[:, [place]], others[:, [place]]), answers, own)
        self.cells.update(((task, length), None) for length in counted if length not in lengths)
        here = np.isin(lengths, counted or lengths)
        table, others = table[:, here], others[:, here]
        blank = bool(np.isnan(table).all(axis=0).any())
        if blank:
            self.blank.append(task)
        if blank or not here.any():
            self.cells[task, 0] = None  # a mean over the other lengths would be that of an easier task
            return
        if not set(counted) <= set(lengths.tolist()):
            self.partial.append(task)
        self._add_cell((task, 0), name, (names, table, others), answers, lengths[here])

    def _add_cell(
        self,
        cell: Cell,
        name: str,
        scores: tuple[Sequence[str], Floats, Floats],
        answers: _Answers,
        lengths: NDArray[np.int64],
    ) -> None:
        """Adds a mean over items x lengths, and one under the other choice; None if a length has no score."""
        names, table, others = scores
        items, other = items_of(names, table, answers.groups), items_of(names, others, answers.groups)
        self.cells[cell] = None
        if items is not None:
            self.cells[cell] = replace(
                mean_of(items, cell[0], name),
                ended=answers.at(lengths),
                other=None if other is None else value_of(other),
            )
            self.items[cell] = items


def _scores(board: Board, rows: pl.DataFrame, lines: Sequence[RowsOfEntry]) -> dict[int, _Scores]:
    """Cells and single questions of each entry: first the items of all, then task by task."""
    items = (
        rows.group_by("line", "task", "item", "length")
        .agg(
            pl.col("value", "other").mean(),
            cluster_name().max(),
            pl.col("mark").unique().sort().str.join(""),
            pl.len().alias(_ENDED[0]),
            *((pl.col("outcome") == name).sum().alias(name) for name in _ENDED[1:]),
        )
        .sort("line", "task", "item", "length")
    )
    # The mark of an item is that of its answer at the shortest length: some answers depend on the length.
    items = items.with_columns(pl.col("mark").first().over("line", "task", "item"))
    items = items.join(_names(items), on=["item", "mark"], maintain_order="left")
    counting = {task: counted_lengths(board, task) for task in board.tasks}
    by_line: dict[int, _Scores] = {number: _Scores() for number in range(rows["line"].n_unique())}
    columns = ("length", "value", "other", "name", "cluster")
    length, value, other, name, cluster = (items[column].to_numpy() for column in columns)
    ended = items.select(_ENDED).to_numpy()
    groups = items.with_row_index("at").group_by("line", "task", maintain_order=True).agg(pl.col("at").min(), pl.len())
    for line, task, start, size in groups.rows():
        here = slice(start, start + size)
        clusters = dict(zip(name[here].tolist(), cluster[here].tolist(), strict=True))
        answers = _Answers(length[here], value[here], other[here], ended[here], name[here], clusters)
        entry = lines[line]
        by_line[line].add(task, system_key(entry.model, entry.variant), answers, counting[task])
    return by_line


def _names(items: pl.DataFrame) -> pl.DataFrame:
    """The name under which questions are compared: the item's name, with a mark of its answers."""
    known = items.select("item", "mark").unique()
    names = [f"{item} #{hashed(mark)[:_MARK]}" for item, mark in known.rows()]
    return known.with_columns(pl.Series("name", names, pl.String))


def _origin(batch: Batch, line: RowsOfEntry) -> Origin:
    dates = [about.date for about in _about(batch, line)]
    return Origin(batch.provenance, TITLES[batch.provenance], date=max(dates, default=""))


def _about(batch: Batch, line: RowsOfEntry) -> list[About]:
    return [about for label in line.labels for about in batch.about.get(label, ())]


def _settings(batch: Batch, line: RowsOfEntry, known: Facts) -> dict[str, Json]:
    settings = merged(run.settings for run in _about(batch, line))
    suites: dict[str, dict[str, None]] = {}
    for label in line.labels:
        # Other results of the same suite name may have added a part of the fingerprint to it.
        prints = suites.setdefault(label[0].split("#")[0], {})
        prints |= dict.fromkeys(run.fingerprint for run in batch.about.get(label, ()) if run.fingerprint)
    return settings | {"suites": {name: ", ".join(prints) for name, prints in suites.items()}} | known
