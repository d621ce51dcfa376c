"""Errata: faulty questions and summaries of public data sets, by fingerprint, with reasons.

A fingerprint is a hash, so that a list of faults contains no text of the data sets. ``errata.toml`` is fathom's own
list; users can add theirs in the same form (``fathom build --errata``). An entry is about a question with its answers,
or, by the fingerprint of the question alone, about this question with any answers::

    ["0123456789abcdef"]
    source = "scientific_qa"
    fault = "absent"
    reason = "the text never says it"
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, cast, get_args

from typing_extensions import TypedDict

from fathom.documents.records import path_text
from fathom.plugins.usertable import read_table
from fathom.storage.foreign import content_of
from fathom.storage.schema import MismatchError, among, read_as
from fathom.types import Document, FathomError

Fault: TypeAlias = Literal["absent", "ambiguous", "dependent", "wrong", "unsuitable"]
"""What is wrong: the text does not have the answer; several answers are right; the question makes no sense without
something that is not given; the gold answer is wrong; the text is not what the question or summary is about."""
NONE = "none"
"""In place of a file: without fathom's own list."""
_DIGITS = 16


class ErratumRecord(TypedDict):
    """An entry of a list; see ``Erratum``."""

    source: str
    fault: Annotated[Fault, among(get_args(Fault))]
    reason: str


@dataclass(frozen=True, slots=True)
class Erratum:
    """One faulty question or summary.

    Attributes:
        source: The data set in which it was found.
        fault: See ``Fault``.
        reason: Why, in a sentence that does not quote the data set.
    """

    source: str
    fault: Fault
    reason: str


def fingerprint(question: str, answers: Iterable[str]) -> str:
    """Identity of a question with its answers: 16 hexadecimal digits.

    White space, case, and the order of the answers do not matter, so that copies by several publishers agree.

    Args:
        question: The question or request; "" for a summary of a whole text.
        answers: Its gold answers, or the summary; none for the question with any answers.
    """
    content = [_folded(question), sorted({_folded(answer) for answer in answers})]
    return sha256(json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")).hexdigest()[:_DIGITS]


def own_errata() -> dict[str, Erratum]:
    """fathom's own list, by fingerprint."""
    text = (resources.files("fathom.documents.sources") / "errata.toml").read_text("utf-8")
    return read_table(text, "errata.toml", _erratum)


def read_errata(files: Iterable[str]) -> dict[str, Erratum]:
    """The errata of some files, by fingerprint, after fathom's own.

    Args:
        files: Paths of TOML files; ``none`` leaves out fathom's own list. A later file replaces earlier entries.

    Raises:
        FathomError: A file cannot be read, or an entry is invalid.
    """
    given = list(files)
    errata = {} if NONE in given else own_errata()
    for name in given:
        if name != NONE:
            where = f"`errata` {path_text(name)}"
            errata |= read_table(content_of(Path(name), where), where, _erratum)
    return errata


def checksum(errata: Mapping[str, Erratum]) -> str:
    """Hash of the fingerprints of some errata: what is left out does not depend on the reasons."""
    return sha256("\n".join(sorted(errata)).encode()).hexdigest()[:_DIGITS]


def listed(errata: Mapping[str, Erratum], question: str, answers: Iterable[str]) -> str | None:
    """The fingerprint under which errata list a question, with its answers or with any; None if they do not.

    Args:
        question: The question or request; "" for a summary of a whole text.
        answers: Its gold answers, or the summary.
    """
    names = (fingerprint(question, answers), fingerprint(question, ()))
    return next((name for name in names if name in errata), None)


def corrected(document: Document, errata: Mapping[str, Erratum]) -> tuple[Document, list[str]]:
    """A document without its faulty questions and summary.

    Args:
        document: Any document; its text stays.
        errata: Errata by fingerprint.

    Returns:
        The document, the same if nothing is faulty, and the fingerprints that were found in it.
    """
    faults = [listed(errata, question.text, question.answers) for question in document.questions]
    summary = listed(errata, "", [document.summary]) if document.summary else None
    fingerprints = [name for name in (*faults, summary) if name is not None]
    if not fingerprints:
        return document, []
    kept = tuple(asked for asked, fault in zip(document.questions, faults, strict=True) if fault is None)
    return replace(document, questions=kept, summary="" if summary else document.summary), fingerprints


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _erratum(value: object, where: str) -> Erratum:
    name = where.rpartition("[")[2].strip("[]'\"")
    if len(name) != _DIGITS or not set(name) <= set("0123456789abcdef"):
        raise FathomError(
            f"{where}: expected a fingerprint of {_DIGITS} hexadecimal digits, as manifest.json of a build names it"
        )
    try:
        fields = read_as(ErratumRecord, value)
    except MismatchError as error:
        raise FathomError(f"{where}: {error}") from None
    if set(fields) != set(cast(dict[str, object], value)):
        raise FathomError(f"{where}: expected the fields {', '.join(fields)} and no other")
    return Erratum(**fields)
