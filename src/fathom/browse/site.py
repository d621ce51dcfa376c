"""The pages as a folder of files that opens from disk and that any web server can serve."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from fathom.browse.pages import SCORES, Pages, differ, score_word
from fathom.browse.replies import Entry, Replies, read_replies
from fathom.plugins.names import unknown
from fathom.printing import readable
from fathom.suites.suitefile.fresh import fresh_folder
from fathom.types import FathomError, Sample, Span
from fathom.web import assets, script, site_place

MARK, FIRST = "data/list.js", 'fathom.add("list",'
LARGE = 200_000_000
"""Characters of documents from which the size is announced before writing."""
ONLY = (*SCORES, "differ")
FILTERS = ("model", "variant", "suite", "task", "length", "depth", "status", "score", "sample")
"""Filters of the page that an address can hold."""


@readable
@dataclass(frozen=True, slots=True)
class Written:
    """A folder of pages.

    Attributes:
        samples: Number of samples in it.
        replies: Number of replies.
        files: Number of files.
        size: Their size in bytes.
        notes: What readers need to know.
    """

    out: Path
    samples: int
    replies: int
    files: int
    size: int
    notes: tuple[str, ...]


def write(
    runs: Sequence[Path],
    out: Path,
    *,
    suites: Sequence[Path] = (),
    rule: str = "strict",
    judge: str | None = None,
    only: Sequence[str] = (),
    tell: Callable[[str], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Written:
    """Write the replies of runs as pages: a folder whose ``index.html`` opens from disk.

    Args:
        runs: Run folders, and rows files.
        out: The folder; pages of fathom that are there are replaced.
        suites: Built suites with the prompts, if they are not where the runs found them.
        rule: Scoring rule, ``strict`` or ``official``.
        judge: See ``fathom.rows.load``.
        only: Only samples with one of these scores (``SCORES``), or ``differ`` for those whose runs disagree.
        tell: Called with what readers need to know, before anything is written.
        progress: Called with (samples written, samples in all).

    Raises:
        FathomError: A run cannot be read, nothing is left to write, or the folder has other files.
    """
    place = site_place(out, "page of replies", MARK, FIRST)
    read = read_replies(runs, suites, rule=rule, judge=judge)
    left = only_some(read, only)
    pages, notes = Pages(left), left.notes
    size = most_characters(left)
    about_size = [f"writing up to {size / 1e6:,.0f} MB; --only wrong,differ writes less"] if size > LARGE else []
    for note in (*notes, *about_size):
        if tell is not None:
            tell(note)
    numbers = {(entry.suite, entry.sample): number for number, entry in enumerate(left.entries)}
    with fresh_folder(place) as folder:
        for name, content in assets("fathom.browse", "page"):
            (folder / name).write_bytes(content)
        _write(folder, pages, "list")
        done: set[int] = set()
        if progress is not None:
            progress(0, len(numbers))
        for count, (suite, sample) in enumerate(_recipes(left), start=1):
            number = numbers.pop((suite, sample.id))
            name = f"samples/{number}"
            _save(folder, name, script(name, pages.detail(left.entries[number], sample)))
            done |= set(pages.text_files(suite, (part for part in sample.parts if isinstance(part, Span))))
            if progress is not None:
                progress(count, len(left.entries))
        for number in numbers.values():  # without a recipe
            _write(folder, pages, f"samples/{number}")
        for piece in sorted(done):  # in the order of their file, so that each group of documents is read once
            _write(folder, pages, f"texts/{piece}")
        if progress is not None:
            progress(len(left.entries), len(left.entries))
        sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    replies = sum(len(entry.replies) for entry in left.entries)
    return Written(out, len(left.entries), replies, len(sizes), sum(sizes), notes)


def only_some(read: Replies, only: Sequence[str]) -> Replies:
    """The samples with one of the given scores.

    Raises:
        FathomError: There is no such score, or no such sample.
    """
    for name in only:
        if name not in ONLY:
            raise unknown("score", name, ONLY, see="fathom browse --help")
    if not only:
        return read
    left = tuple(entry for entry in read.entries if _is_wanted(entry, only))
    if not left:
        raise FathomError(f"`only` {','.join(only)}: none of {len(read.entries):,} samples is left; leave it out")
    return Replies(read.runs, left, read.suites)


def _is_wanted(entry: Entry, only: Sequence[str]) -> bool:
    return ("differ" in only and differ(entry)) or any(score_word(reply.row.value) in only for reply in entry.replies)


def most_characters(read: Replies) -> int:
    """About how many characters of documents pages hold at most: those of the suites, or of all prompts if less."""
    prompts = sum(4 * (entry.row.tokens or entry.row.length) for entry in read.entries)
    return min(prompts, sum(sum(suite.sizes().values()) for suite in read.suites.values()))


def address(pages: str, **filters: str | float | None) -> str:
    """The address of the pages with some filters.

    Args:
        pages: The folder's address or relative path, such as ``replies``.
        filters: Values of ``FILTERS``; None for no filter. A length is in tokens, a depth a number or a range such as
            ``0.25-0.5``, a score one of ``SCORES`` or ``differ``.

    Returns:
        For instance ``replies/index.html#model=openai%2Fgpt-5&task=passkey&length=8192``.

    Raises:
        FathomError: There is no such filter.
    """
    for name in filters:
        if name not in FILTERS:
            raise unknown("filter", name, FILTERS)
    given = ((name, filters.get(name)) for name in FILTERS)
    words = (f"{name}={quote(_word(value), safe='')}" for name, value in given if value is not None)
    base = f"{pages.rstrip('/')}/index.html"
    fragment = "&".join(words)
    return f"{base}#{fragment}" if fragment else base


def _word(value: str | float) -> str:
    return (
        f"{value:g}"
        if isinstance(value, float) and not value.is_integer()
        else str(value)
        if isinstance(value, str)
        else str(int(value))
    )


def _recipes(read: Replies) -> Iterator[tuple[str, Sample]]:
    """The recipes of all samples that have one, by suite, in the order of their file."""
    for name, suite in read.suites.items():
        samples = {entry.sample for entry in read.entries if entry.suite == name}
        if samples:
            yield from ((name, sample) for sample in suite.samples(only=samples) if sample.id in samples)


def _write(folder: Path, pages: Pages, name: str) -> None:
    _save(folder, name, script(name, pages.value(name)))


def _save(folder: Path, name: str, content: bytes) -> None:
    path = folder / "data" / f"{name}.js"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
