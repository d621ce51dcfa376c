"""Gathering of documents file by file: bad rows and duplicates are listed apart, the rest is kept."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from fathom.corpus.identity import merged
from fathom.corpus.records import BadRowError, Fields, NoTextFieldError, make_document
from fathom.records import TEXTS, Fault, File, Problem, Problems, Record, format_of, path_text, read_records
from fathom.types import Document


@dataclass
class Gathering:
    """What has been read so far: documents by id, and what was left out."""

    names: Fields
    documents: dict[str, Document] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    duplicates: list[Problem] = field(default_factory=list)

    def read_file(self, file: File) -> None:
        """Add the documents of one file; they will be said to come from its name."""
        problems = Problems(str(file), "problems in this file")
        without_text = Problems(str(file), "rows without a text")
        duplicates = Problems(str(file), "rows of this file whose text came before")
        rows, unseen = 0, self._optional_fields_named_by_user()
        for record in read_records(file, self.names.named(), self.names.text):
            if isinstance(record, Fault):
                problems.add(record.line, record.reason)
                continue
            rows += 1
            unseen -= record.fields.keys()
            try:
                self._add(record, path_text(str(file.name)), problems, duplicates)
            except NoTextFieldError as error:
                without_text.add(record.line, str(error))
            except BadRowError as error:
                problems.add(record.line, str(error))
        if rows and without_text.count == rows:
            # One wrong name is one problem, not thousands.
            problems.add(None, f"none of its {rows:,} rows is a document: {without_text.listed()[0].reason}", rows)
        else:
            self.problems += without_text.listed()
            for name in sorted(unseen) if rows and format_of(file.name.name) not in TEXTS else ():
                problems.add(None, f"none of its {rows:,} rows has the field {name!r}")
        self.problems += problems.listed()
        self.duplicates += duplicates.listed()

    def _add(self, record: Record, source: str, problems: Problems, duplicates: Problems) -> None:
        where = source if record.line is None else f"{source}:{record.line}"
        document, remarks = make_document(record.fields, self.names, where)
        for remark in remarks:
            problems.add(record.line, remark)
        first = self.documents.setdefault(document.id, document)
        if first is document:
            return
        new = tuple(question for question in document.questions if question not in first.questions)
        moved = f"; its questions moved there ({len(new)})" if new else ""
        duplicates.add(record.line, f"the same text as {first.source}{moved}")
        self.documents[first.id] = merged(first, document)

    def _optional_fields_named_by_user(self) -> set[str]:
        chosen = {getattr(self.names, part.name) for part in fields(Fields)}
        usual = {getattr(Fields(), part.name) for part in fields(Fields)}
        return chosen - usual - {self.names.text}
