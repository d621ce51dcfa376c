"""A report as a value: its tables, which show themselves, and its summary as Markdown, as text and as numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import polars as pl

from fathom.analysis import AverageScore, Filtered
from fathom.analysis.base import BASE_LENGTHS
from fathom.analysis.ranking import Ranked
from fathom.options.terminal import as_json
from fathom.parallel.units import Progress
from fathom.printing import printable
from fathom.report.measure import measure, with_setups
from fathom.report.notebook import as_notebook
from fathom.report.page import TITLE, details_folder, page, pages
from fathom.report.results import ALL, Measurement, Results, System, Value, system_of
from fathom.report.sections import SECTIONS
from fathom.report.setups import ComparedSetups
from fathom.report.studies import Tables
from fathom.report.summary import Summary, show_summary, summary, summary_text
from fathom.report.table import Replies
from fathom.report.tables import tables_of
from fathom.stats.outcomes import Unanswered
from fathom.stats.substitutes import not_the_benchmarks, substituted
from fathom.storage.atomic import whole_file
from fathom.tokens.length import named_lengths

Format: TypeAlias = Literal["html", "markdown", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)


class Report(Tables):
    """The tables of a report, which show themselves in consoles and notebooks.

    Attributes:
        results: What was measured.
        link: Gives the address of the replies behind a figure; None without links.
    """

    results: Results
    title: str
    link: Callable[[Replies], str] | None

    def _repr_html_(self) -> str:
        return as_notebook(self.results, self)

    @property
    def summary(self) -> Summary:
        """What was not measured, the ranking, the largest drops, how it was made."""
        return summary(self.results)

    def html(self) -> str:
        """The page."""
        return page(self.results, title=self.title, link=self.link, numbers=as_json(self.numbers(), indent=None))

    def markdown(self) -> str:
        """The summary in at most 40 lines, for a message or a pull request, and what sections add to it."""
        added = [text for section in SECTIONS if (text := section.markdown(self.results))]
        return "\n".join((summary_text(self.summary, self.title), *added))

    def numbers(self) -> dict[str, Any]:
        """The summary and all scores, as numbers."""
        summarized, results = self.summary, self.results
        ranks = {system_of(ranked): ranked for ranked in results.ranked}
        averages = {system: results.average.get((system, ALL)) for system in results.systems}
        scored: Mapping[System, AverageScore | Ranked | None] = averages if results.by_average else ranks
        return {
            "title": self.title,
            "answers": list(map(str, summarized.answers)),
            "scope": summarized.scope,
            "not_measured": list(map(str, summarized.unmeasured)),
            "score": "average score" if results.by_average else "mean over questions",
            "ranking": [
                {
                    **system._asdict(),
                    "rank": (ranked.best, ranked.worst) if (ranked := ranks.get(system)) else None,
                    "score": score.mean if (score := scored.get(system)) else None,
                    "interval": score.interval if score else None,
                    "bounds": score.bounds if isinstance(score, AverageScore) else None,
                    "effective_length": results.effective.get((system, ALL, "own_base")),
                    "longscore": results.longscore.get((system, ALL)),
                    "counts": results.every(system),
                }
                for system in results.systems
            ],
            "drops": [{**asdict(ranked), "difference": ranked.difference} for ranked in results.drops],
            "scores": list(results.curve.values()),
            "notes": summarized.notes,
            "made": dict(summarized.made),
            **{section.name: own for section in SECTIONS if (own := section.numbers(results))},
        }

    def text(self, format: Format) -> str:
        """The report in a format."""
        if format == "markdown":
            return self.markdown()
        return self.html() if format == "html" else as_json(self.numbers()) + "\n"

    def show_summary(self) -> None:
        """Prints the summary."""
        show_summary(self.summary)


def measured(
    rows: pl.DataFrame | Filtered,
    *,
    title: str = TITLE,
    seed: int = 0,
    unanswered: Unanswered = "zero",
    notes: Sequence[str] = (),
    made: Sequence[tuple[str, str]] = (),
    link: Callable[[Replies], str] | None = None,
    setups: ComparedSetups | None = None,
    progress: Progress | None = None,
) -> Report:
    """A report on rows.

    Args:
        rows: A rows table (``fathom.rows``), or the result of the closed-book filter.
        seed: Seed of the bootstrap; the same rows and seed give the same page, byte for byte.
        unanswered: How unanswered replies count (``fathom.stats.outcomes``).
        notes: What was not measured, such as unfinished runs.
        made: How the report is made, such as its command: name and value.
        link: Gives the address of the replies behind a figure, relative to the page; None for no links.
        setups: The comparison of the setups that the rows are of.
        progress: See ``fathom.report.measure.measured_parts``.

    Raises:
        FathomError: There are no rows.
    """
    short = () if setups is None else setups.within
    if short:
        made = (*made, ("Base of effective lengths", f"mean at {named_lengths(short)}, the lengths up to the window"))
    asked = rows.left.rows if isinstance(rows, Filtered) else rows
    results = replace(
        measure(rows, seed=seed, unanswered=unanswered, base_lengths=short or BASE_LENGTHS, progress=progress),
        notes=tuple(map(printable, (*notes, *not_the_benchmarks(substituted(asked))))),
        made=tuple((name, printable(value)) for name, value in made),
    )
    if setups is not None:
        results = with_setups(results, setups)
    report = Report(tables_of(results))
    report.results, report.title, report.link = results, title, link
    return report


def with_values(report: Report, measurement: Measurement[Value], values: Sequence[Value]) -> Report:
    """The report with what a section does not measure on rows of one rule."""
    results = replace(report.results, of_sections={**report.results.of_sections, measurement.name: tuple(values)})
    added = Report(tables_of(results))
    added.results, added.title, added.link = results, report.title, report.link
    return added


def report(rows: pl.DataFrame | Filtered, out: Path, *, format: Format = "html", **options: Any) -> Report:
    """Writes a report on rows as a file, by default as one self-contained HTML page.

    Args:
        rows: A rows table (``fathom.rows``), or the result of the closed-book filter.
        out: The file to write; missing folders are created.
        format: What is written.
        options: See ``measured``.

    Raises:
        FathomError: There are no rows, or the file cannot be written.
    """
    made = measured(rows, **options)
    write(made, out, format)
    return made


def write(report: Report, out: Path, format: Format = "html") -> None:
    """Writes a report in a format; each file is replaced atomically.

    A page on many models has the details of most of them on further pages, in a folder beside it. To a pipe or a device
    everything is written as one page.
    """
    if format != "html" or (out.exists() and not out.is_file()):
        return _write(out, report.text(format))
    written = set()
    numbers = as_json(report.numbers(), indent=None)
    for path, text in pages(report.results, out, title=report.title, link=report.link, numbers=numbers):
        _write(path, text)
        written.add(path)
    for path in details_folder(out).glob("models-[0-9]*-[0-9]*.html"):
        if path not in written:  # of an earlier report on more models
            path.unlink()


def _write(path: Path, text: str) -> None:
    with whole_file(path) as stream:
        stream.write(text)
