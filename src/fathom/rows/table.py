"""Rows tables of any size: what is larger than memory stays in files, and is read in parts of whole models.

Every study of a model needs the rows of that model alone, and comparisons need one score for each of its samples. So a
table of many models takes no more memory than its largest model.
"""

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from fathom.plugins.names import system_name
from fathom.rows import schema
from fathom.rows.schema import NUMBER, readable_table
from fathom.stats.outcomes import SCORER_FAILED, scorer_errors
from fathom.types import FathomError


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some of the rows of a table, which another process can read too, as long as the table is there.

    Attributes:
        rows: The rows.
        count: Their number.
        place: The origin of the table, for messages.
        streamed: Whether they are in files that are larger than memory may be.
    """

    rows: pl.LazyFrame
    count: int
    place: str
    streamed: bool

    def read(self) -> pl.DataFrame:
        """The rows in memory.

        Raises:
            FathomError: A file is damaged or gone.
        """
        return _read(self.rows, self.place, self.streamed)


def _read(rows: pl.LazyFrame, place: str, streamed: bool) -> pl.DataFrame:
    with readable_table(place):
        return rows.collect(engine="streaming" if streamed else "auto")


class RowsTable:
    """Checked rows in their order.

    Attributes:
        rows: The rows, with the columns of ``SCHEMA``; nothing is read until they are collected.
        place: Their origin, for messages.
        origins: Each model and variant with the run folder or file that has rows of it, as far as it is known.
    """

    origins: tuple[tuple[str, str, str], ...] = ()

    def __init__(
        self,
        rows: pl.LazyFrame | pl.DataFrame,
        place: str = "rows",
        held: object = None,
        slices: Callable[[], Iterable[pl.LazyFrame]] | None = None,
    ) -> None:
        """A table.

        Args:
            rows: See the attributes.
            place: Likewise.
            held: Owner of the temporary files, which are deleted with it.
            slices: Gives the same rows for :meth:`slices`, if slices of ``rows`` would be read from its start.
        """
        self.rows, self.place, self._held, self._slices = rows.lazy(), place, held, slices
        self._in_memory = isinstance(rows, pl.DataFrame)

    def read(self, rows: pl.LazyFrame | None = None) -> pl.DataFrame:
        """Rows in memory: all of them, or what was chosen and summed up of ``rows``.

        Raises:
            FathomError: A file is damaged or gone.
        """
        return _read(self.rows if rows is None else rows, self.place, self.is_large)

    @cached_property
    def count(self) -> int:
        """Number of rows."""
        with readable_table(self.place):
            return int(self.rows.select(pl.len()).collect().item())

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns."""
        return self.count, len(schema.SCHEMA)

    @property
    def is_large(self) -> bool:
        """Whether the rows are read in parts."""
        return self.count > schema.LARGE

    def slices(self) -> Iterator[pl.LazyFrame]:
        """The rows in slices of at most ``LARGE`` rows, in their order; at least one."""
        yield from schema.in_slices(self.rows) if self._slices is None else self._slices()

    def each(self, change: Callable[[pl.LazyFrame, int], pl.LazyFrame]) -> "RowsTable":
        """The table after a change that is made to each row by itself.

        Args:
            change: Gives the changed rows of some rows, and of the number of the first one, from 0.
        """

        def slices() -> Iterator[pl.LazyFrame]:
            start = 0
            for part in self.slices():
                yield change(part, start)
                start += RowsTable(part).count

        rows = change(self.rows, 0)
        if not self.is_large:
            return RowsTable(self.read(rows), self.place)
        changed = RowsTable(rows, self.place, self, slices)
        changed._in_memory = self._in_memory
        return changed

    @cached_property
    def models(self) -> tuple[tuple[str, int], ...]:
        """Models in the order in which the rows name them, with their numbers of rows."""
        numbered = self.rows.select("model").with_row_index(NUMBER)
        sizes = self.read(numbered.group_by("model").agg(pl.len(), pl.col(NUMBER).min()))
        return tuple((str(model), int(size)) for model, size, _ in sizes.sort(NUMBER).rows())

    def parts(self, columns: Sequence[str] = tuple(schema.SCHEMA)) -> Iterator[pl.DataFrame]:
        """The rows in parts: all rows of some models, in their order; one empty part if there are no rows.

        Args:
            columns: The columns to read.

        Yields:
            Parts of at most ``LARGE`` rows, unless one model has more.
        """
        for names, _ in self._groups(schema.LARGE):
            yield self.read(self._of(names, columns))

    def divided(self, most: int, columns: Sequence[str] = tuple(schema.SCHEMA)) -> list[Part]:
        """The rows in parts that another process can read: all rows of some models, in the order of the models.

        Args:
            most: Rows of a part, unless one model has more.

        Returns:
            The parts, one or more. Those of a table in files are small to send, and read later.

        Raises:
            FathomError: A file is damaged or gone.
        """
        parts = []
        for names, size in self._groups(most):
            rows = self._of(names, columns)
            if names and (self._in_memory or not self.is_large):  # it must not bring all rows to another process
                rows = self.read(rows).lazy()
            parts.append(Part(rows, size, self.place, self.is_large))
        return parts

    def _groups(self, most: int) -> list[tuple[list[str], int]]:
        """Models that are read together, with their number of rows; no names for all."""
        if self.count <= most:
            return [([], self.count)]
        groups: list[tuple[list[str], int]] = []
        for model, size in self.models:
            names, before = groups.pop() if groups else ([], 0)
            if names and before + size > most:
                groups.append((names, before))
                names, before = [], 0
            groups.append(([*names, model], before + size))
        return groups

    def _of(self, names: Sequence[str], columns: Sequence[str]) -> pl.LazyFrame:
        # The filter comes first, so that other columns of other models are not decoded.
        return (self.rows.filter(pl.col("model").is_in(names)) if names else self.rows).select(columns)


def notes_on_scorers(table: RowsTable) -> Iterator[str]:
    """Notes on replies that scorers could not score."""
    failed = table.rows.filter(pl.col("value").is_null(), pl.col("detail").str.starts_with(SCORER_FAILED))
    for error in scorer_errors(table.read(failed)):
        yield f"{system_name(error.model, error.variant)}: {error}; correct the scorer"


class RowSources:
    """Rows of several sources in order: those in memory move to temporary files if all are more than ``LARGE``."""

    def __init__(self) -> None:
        """No rows yet."""
        self._parts: list[pl.DataFrame | pl.LazyFrame] = []
        self._rows = 0
        self._folder: Path | None = None

    def add(self, rows: pl.DataFrame | pl.LazyFrame) -> None:
        """Add rows, which are in memory, or in a file as a whole."""
        self._parts.append(rows)
        self._rows += int(rows.lazy().select(pl.len()).collect().item())
        if self._rows > schema.LARGE:
            self._parts = [self._filed(number, part) for number, part in enumerate(self._parts)]

    def parts(self) -> list[pl.LazyFrame]:
        """The rows of each source; the files are deleted with this object."""
        return [part.lazy() for part in self._parts]

    def _filed(self, number: int, rows: pl.DataFrame | pl.LazyFrame) -> pl.LazyFrame:
        if isinstance(rows, pl.LazyFrame):
            return rows
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="fathom-rows-")).absolute()
            weakref.finalize(self, shutil.rmtree, self._folder, True)
        file = self._folder / f"{number}.parquet"
        try:
            schema.write_table(rows, file)
        except FathomError as error:
            raise FathomError(f"{error}; TMPDIR in the environment names a folder with more room") from None
        return pl.scan_parquet(file, glob=False)
