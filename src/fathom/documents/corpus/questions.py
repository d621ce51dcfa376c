"""Reads questions of one's own from a table and attaches them to documents."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import chain
from pathlib import Path, PurePosixPath

from fathom.documents.corpus.locating import find_quotation, fold
from fathom.documents.corpus.text import normalise
from fathom.documents.records import TABLES, WORKBOOKS, Fault, Record, format_of, path_text, read_records, split_name
from fathom.documents.records.cells import CellError, as_listed, texts_in
from fathom.documents.records.tables import read_csv
from fathom.plugins.names import beside, did_you_mean
from fathom.printing import printable
from fathom.storage.foreign import read_regular
from fathom.types import Document, FathomError, Json, Question

NEEDED = ("document", "question", "answer")
SPENT = ("session_tokens", "session_dollars")
"""What the conversation of a document took; see ``fathom data transcripts``."""
OPTIONAL = ("evidence", "kind", "drafted", "page", "checked", "wrong", *SPENT)
UNICODE_TEXT = ".txt"  # a table with tabs, as Excel saves it
SHOWN = 40  # problems shown in an error message
QUOTED = 60  # characters of a question or a quotation in a message
_PART = re.compile(r", part [\d,]+$")  # at the end of the source of a part; those of whole texts end with a file or row


@dataclass(frozen=True, slots=True)
class QuestionTable:
    """The questions of a table.

    Attributes:
        questions: Questions by the id of their document.
        unused: Columns that are not read.
    """

    questions: Mapping[str, tuple[Question, ...]]
    unused: tuple[str, ...]

    def of(self, document: Document) -> Document:
        """A document with its questions from the table after its own."""
        new = (question for question in self.questions.get(document.id, ()) if question not in document.questions)
        added = tuple(new)
        return replace(document, questions=(*document.questions, *added)) if added else document

    def drafted(self) -> dict[str, int]:
        """Number of drafted questions by the model that drafted them."""
        models = [
            str(question.meta["drafted"]) for question in chain(*self.questions.values()) if "drafted" in question.meta
        ]
        return {model: models.count(model) for model in dict.fromkeys(models)}


class NamedDocuments:
    """The documents that tables of questions name, before the tables are checked."""

    def __init__(self) -> None:
        self._rows: dict[str, list[tuple[tuple[str, ...], bool]]] = {}  # quotations, and whether all count, by name

    def add(self, record: Record) -> None:
        """Add the document of a row, with its evidence or answers."""
        cells = _cells(record)
        try:
            evidence = tuple(_texts(cells.get("evidence")))
            quoted = evidence or tuple(_texts(cells.get("answer")))
        except CellError:  # which is reported when the table is checked
            return
        name = _name(cells.get("document"))
        self._rows.setdefault(name, []).append((quoted, bool(evidence)))

    def needs(self, name: str, document: Document, *, part: bool) -> bool:
        """Whether a document is named; of a part, whether it is the first with the evidence or answer of a row.

        Args:
            name: The document's file, and its row in a table.
            part: Whether it is only a part of a text.
        """
        if not self._rows:
            return False
        keys = {fold(each) for each in (name, *_short_names(name))}
        rows = [(key, row) for key in keys for row in self._rows.get(key, ())]
        if not part:
            return bool(rows)
        answered = [(key, row) for key, row in rows if _quotes(document.text, *row)]
        for key, row in answered:
            self._rows[key].remove(row)
        return bool(answered)


def asked_for(paths: Iterable[Path]) -> NamedDocuments:
    """The documents that tables of questions name; tables that cannot be read are reported when they are checked."""
    asked = NamedDocuments()
    for path in paths:
        if format_of(path.name) in (*TABLES, UNICODE_TEXT) and path.is_file():
            for record in _records(path):
                if isinstance(record, Record):
                    asked.add(record)
    return asked


def _quotes(text: str, quotations: Iterable[str], every: bool) -> bool:
    match = (find_quotation(text, quotation) is not None for quotation in quotations)
    return all(match) if every else any(match)


def read_questions(path: Path, documents: Mapping[str, Document], names: Iterable[tuple[str, str]]) -> QuestionTable:
    """Read a table with the columns ``document``, ``question``, ``answer`` and optionally ``evidence``, in any case.

    A document is named by its file, as in the corpus, or by the file's name without folder or suffix if only one has
    it; a row of a table as ``FILE:ROW``. A cell of ``answer`` or ``evidence`` is a text, or a list of texts (see
    ``fathom.documents.records.cells``). Evidence is a passage of the document, word for word; white space and what
    ``fathom.documents.corpus.locating.fold`` changes do not matter.

    Args:
        path: A file of ``fathom.documents.records.TABLES``, or Excel's "Unicode text".
        documents: The documents by id.
        names: Names of their sources, each with the id.

    Raises:
        FathomError: The file cannot be read, or some of its rows are wrong; the message lists them.
    """
    if format_of(path.name) not in (*TABLES, UNICODE_TEXT):
        raise FathomError(f"`questions` {path_text(path)}: expected a table: {', '.join(TABLES)}")
    if not path.is_file():
        raise FathomError(f"`questions` {path_text(path)}: no such file{beside(path)}")
    known = _Names(names)
    questions: dict[str, list[Question]] = {}
    problems: list[str] = []
    columns: dict[str, None] = {}
    rows = 0
    for record in _records(path):
        if isinstance(record, Fault):
            problems.append(f"row {record.line}: {record.reason}" if record.line else record.reason)
            continue
        rows += 1
        columns.update(dict.fromkeys(record.fields))
        cells = _cells(record)
        if missing := [name for name in NEEDED if name not in cells]:
            held = f"it has {', '.join(record.fields)}"
            problems.append(f"row {record.line}: no column {', '.join(missing)}; {held}; name the columns so")
            if rows == 1:
                break
            continue
        if len(cells) < len(record.fields) and (alike := _alike(record.fields)):
            problems.append(f"the columns {alike} differ only in capitals: rename one")
            break
        question, wrong = _question(cells, documents, known)
        which = f"row {record.line} ({_short(str(cells['question'] or ''))})"
        problems += (f"{which}: {reason}" for reason in wrong)
        if question and not wrong:
            questions.setdefault(question[0], []).append(question[1])
    if not rows and not problems:
        problems.append(f"it has no questions; expected the columns {', '.join(NEEDED)} and optionally evidence")
    if problems:
        listed = "".join(f"\n  {printable(problem)}" for problem in problems[:SHOWN])
        more = f"\n  and {len(problems) - SHOWN:,} more" if len(problems) > SHOWN else ""
        counted = "this problem" if len(problems) == 1 else f"{len(problems):,} problems"
        raise FathomError(f"`questions` {path_text(path)}: correct {counted}:{listed}{more}")
    unused = tuple(name for name in columns if name.casefold() not in (*NEEDED, *OPTIONAL))
    return QuestionTable({id: tuple(asked) for id, asked in questions.items()}, unused)


def checksum(path: Path) -> str:
    """Hash of the content of a table of questions; "" if it cannot be read, which is reported when it is needed."""
    try:
        return sha256(read_regular(path)).hexdigest()[:16]
    except OSError:
        return ""


def _records(path: Path) -> Iterator[Record | Fault]:
    if format_of(path.name) == UNICODE_TEXT and path.is_file():
        return read_csv(path, "\t")
    return read_records(path, frozenset(NEEDED) if format_of(path.name) in WORKBOOKS else None)


def _cells(record: Record) -> Mapping[str, object]:
    """The cells of a row by the names of their columns in lower case."""
    return {name.casefold(): cell for name, cell in record.fields.items()}


def _alike(columns: Iterable[str]) -> str:
    """Columns that the table needs and has more than once, in other capitals."""
    named = [name for name in columns if name.casefold() in (*NEEDED, *OPTIONAL)]
    counts = Counter(name.casefold() for name in named)
    return " and ".join(repr(name) for name in named if counts[name.casefold()] > 1)


def _name(cell: object) -> str:
    return fold(str(cell or "").strip().removeprefix("./"))


class _Names:
    """Ids of documents by their full names, and by parts of them that only one has."""

    def __init__(self, names: Iterable[tuple[str, str]]) -> None:
        self._full: dict[str, dict[str, str]] = {}  # full names by id, by name
        self._short: dict[str, dict[str, str]] = {}
        for name, id in names:
            self._full.setdefault(fold(name), {})[id] = name
            for short in _short_names(name):
                self._short.setdefault(fold(short), {})[id] = name

    def find(self, name: str) -> tuple[tuple[str, ...], str]:
        """The id of a document, several if it is in parts; or none and what is wrong."""
        wanted = _name(name)
        documents = self._full.get(wanted) or self._short.get(wanted) or {}
        if len(set(documents.values())) == 1:
            return tuple(documents), ""
        if documents:
            which = ", ".join(sorted(set(documents.values()))[:5])
            return (), f"{len(documents)} documents have the name {name!r} ({which}); give each a name of its own"
        return (), f"no document {name!r} in the corpus{did_you_mean(wanted, [*self._full, *self._short])}"


def _short_names(name: str) -> set[str]:
    """Names by which a document may be called too: without folder, without suffix."""
    own = PurePosixPath(name).name
    return {own, split_name(own)[0], split_name(name)[0]}


_MISSING = frozenset({"nan", "<na>", "#n/a"})
"""What pandas and spreadsheets write into empty cells."""


def _question(
    cells: Mapping[str, object], documents: Mapping[str, Document], names: _Names
) -> tuple[tuple[str, Question] | None, list[str]]:
    """A question with the id of its document, and what is wrong with the row."""
    wrong: list[str] = []
    text = normalise(str(cells["question"] or ""))
    if not text:
        wrong.append("the question is empty")
    answers, evidence = (_listed(cells.get(name), name, wrong) for name in ("answer", "evidence"))
    if not answers and not any(reason.startswith("the answer: ") for reason in wrong):
        wrong.append("the answer is empty")
    if str(cells["answer"]).strip().casefold() in _MISSING:
        wrong.append(f"the answer is {cells['answer']}, as programs write an empty cell; as a list it would be one")
    ids, reason = names.find(str(cells["document"] or "").strip())
    if reason:
        return None, [*wrong, reason]
    quoted = evidence or answers, bool(evidence)
    id = next((id_ for id_ in ids if _quotes(documents[id_].text, *quoted)), ids[0]) if len(ids) > 1 else ids[0]
    places = {quotation: find_quotation(documents[id].text, quotation) for quotation in evidence}
    missing = [quotation for quotation, span in places.items() if span is None]
    if missing and (part := _PART.search(documents[id].source)):
        wrong.append(_in_no_part(documents[id].source[: part.start()], evidence))
    else:
        wrong += (_not_there(documents[id], quotation) for quotation in missing)
    spans = {span for span in places.values() if span is not None}
    meta: dict[str, Json] = {name: str(cells[name]) for name in ("kind", "drafted") if cells.get(name)}
    for name in SPENT:
        cell = "" if cells.get(name) is None else str(cells[name]).strip()
        if cell and cell.casefold() not in _MISSING:
            try:
                meta[name] = amount = float(cell)
            except ValueError:
                amount = -1.0
            if not 0 <= amount < math.inf:
                wrong.append(f"{name} is {cell!r}; expected a number from 0, as 1200 or 0.05")
    if cells.get("wrong") and (values := _listed(cells["wrong"], "wrong", wrong)):
        meta["wrong"] = list(values)
    return (id, Question(text, answers, tuple(sorted(spans)), meta)), wrong


def _listed(cell: object, column: str, wrong: list[str]) -> tuple[str, ...]:
    """The distinct texts of a cell; adds to what is wrong with the row."""
    try:
        return tuple(dict.fromkeys(_texts(cell)))
    except CellError as error:
        wrong.append(f"the {column}: {error}")
        return ()


def _texts(cell: object) -> Iterator[str]:
    """The texts of a cell: one text, or a list.

    Raises:
        CellError: It looks like a list and is none.
    """
    return (text for each in texts_in(as_listed(cell)) if (text := normalise(each)))


def _not_there(document: Document, quotation: str) -> str:
    """Says that evidence is not in a document, and up to where it agrees."""
    words = quotation.split()
    low, high = 0, len(words) - 1
    while low < high:  # the most words from the start that occur
        middle = (low + high + 1) // 2
        if find_quotation(document.text, " ".join(words[:middle])):
            low = middle
        else:
            high = middle - 1
    agrees = f"; it agrees up to {_short(' '.join(words[max(0, low - 8) : low]))}" if low > 2 else ""
    return f"the evidence is not in the text of {document.source} word for word: {_short(quotation)}{agrees}"


def _in_no_part(name: str, evidence: Iterable[str]) -> str:
    """Says that no part of a long document has all of the evidence of a question."""
    return (
        f"no part of {name} has all of the evidence word for word: {', '.join(map(_short, evidence))}; it is read in "
        "parts, which do not overlap: check the words, quote less, or quote evidence that lies together"
    )


def _short(text: str) -> str:
    words = " ".join(text.split())
    return f'"{words[:QUOTED]}..."' if len(words) > QUOTED else f'"{words}"'
