"""Collects the documents of a suite by role."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeAlias, get_args

from fathom.documents.corpus import Problem, is_world, merged, parse_spec, read_corpus
from fathom.documents.corpus.questions import read_questions
from fathom.documents.corpus.spec import path_of
from fathom.documents.corpus.stackexchange import case_documents, thread_documents
from fathom.documents.corpus.synthetic import NEUTRAL, neutral_document, pairs_document, refrain_document
from fathom.documents.records import Unread
from fathom.documents.sources import Found, read_sources
from fathom.documents.sources.errata import Erratum, corrected, read_errata
from fathom.documents.sources.templates import Templates, read_templates
from fathom.plugins.names import first_of
from fathom.printing import several
from fathom.suites.build.config import BOOKS, BuildConfig, settings_of
from fathom.suites.build.wording import OfficialWording, read_wording
from fathom.suites.registry import get_task
from fathom.tokens.counts import TokenCounter
from fathom.tokens.tokenizers import CONTROL_TOKEN
from fathom.types import ROLES, Document, FathomError, Json, Role
from fathom.world.private import PACKAGED, Private, using

CONTEXTS = 2  # longest contexts that a generated text could fill, so that items share half of its pairs on average
BYTES_PER_TOKEN = 4  # of a usual text
NAMED = 3  # control tokens and documents in a note
PROBED = 64  # pairs or sentences that are counted to estimate the tokens of one


Reading: TypeAlias = Callable[[int, int | None], None]
"""Called with the bytes read so far, and their number if it is known."""


@dataclass
class Material:
    """Documents by role and language, and what was left out.

    Attributes:
        roles: Documents by role, language and id.
        problems: Why something could not be read, one line each; only the first ones of a file.
        unread: Files that are not read, by reason.
        read: Files read and not read of each corpus from files, and the latter by name with the reason.
        passed: The files of folders with data sources that are not read, by name with the reason.
        bad: All unusable rows and files of strict sources.
        notes: Messages about the sources.
        duplicates: Number of documents with a text seen before.
        templates: The publishers' prompts of records, if used.
        wording: The authors' texts of prompts, if used.
        errata: Faulty questions and summaries by fingerprint; those of documents that are added are left out, except
            for published records.
        faulty: The faulty questions and summaries found so far, as JSON objects, by fingerprint and document.
    """

    roles: dict[Role, dict[str, dict[str, Document]]] = field(
        default_factory=lambda: {role: {} for role in get_args(Role)}
    )
    problems: list[str] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    read: list[dict[str, Json]] = field(default_factory=list)
    passed: list[Json] = field(default_factory=list)
    bad: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    duplicates: int = 0
    templates: Templates | None = None
    wording: OfficialWording = field(default_factory=OfficialWording)
    errata: Mapping[str, Erratum] = field(default_factory=dict)
    faulty: dict[tuple[str, str], Json] = field(default_factory=dict)

    def add(self, documents: Iterable[Document], roles: Iterable[Role], languages: Sequence[str]) -> None:
        """Add documents for some roles; a duplicate text passes its questions and summary on to the first."""
        documents = [each for each in documents if not languages or each.language in languages]
        if set(roles) != {"record"}:
            documents = list(map(self._corrected, documents))
        for number, role in enumerate(roles):
            for document in documents:
                known = self.roles[role].setdefault(document.language, {})
                first = known.setdefault(document.id, document)
                if first is not document:
                    known[document.id] = merged(first, document)
                    self.duplicates += number == 0

    def _corrected(self, document: Document) -> Document:
        kept, fingerprints = corrected(document, self.errata)
        for name in fingerprints:
            erratum = self.errata[name]
            entry = {"fingerprint": name, "document": document.source, "fault": erratum.fault, "reason": erratum.reason}
            self.faulty[name, document.id] = entry
        return kept

    def languages(self) -> list[str]:
        """All languages with documents, in the order of their first document."""
        return list(dict.fromkeys(language for by_language in self.roles.values() for language in by_language))

    def of(self, roles: Sequence[Role], language: str) -> list[Document]:
        """Documents of some roles in one language, each once."""
        distinct: dict[str, Document] = {}
        for role in roles:
            for id, document in self.roles[role].get(language, {}).items():
                distinct[id] = merged(distinct[id], document) if id in distinct else document
        return list(distinct.values())

    def all(self) -> dict[str, Document]:
        """All documents by id."""
        return {
            id: d for by_language in self.roles.values() for known in by_language.values() for id, d in known.items()
        }

    def add_corpus(
        self,
        spec: str,
        roles: Sequence[Role],
        wanted: BuildConfig,
        reading: Reading | None,
        allow_unread: bool,
    ) -> tuple[tuple[str, str], ...]:
        """Add the documents of a folder or a file, and return their names with their ids.

        Raises:
            FathomError: A file cannot be read.
        """
        try:
            questions = list(map(path_of, wanted.questions))
            corpus = read_corpus(spec, wanted.fields, questions=questions, reading=reading, most=_of_use(wanted))
        except OSError as error:
            raise FathomError(
                f"Corpus {spec!r}: {error.filename}: cannot be read: {error.strerror or error}"
            ) from error
        # What lies beside novels is named, and stops nothing: only plain text can be a novel.
        if not allow_unread and tuple(roles) != BOOKS:
            corpus.check_read()
        self.add(corpus.documents, roles, wanted.languages)
        self.problems += map(str, corpus.problems)
        self.unread += corpus.unread
        left = _not_read(corpus.unread)
        left += [{"file": problem.path, "reason": problem.reason} for problem in corpus.without]
        self.read.append({"corpus": spec, "read": corpus.read, "missed": corpus.missed, "not_read": left})
        self.duplicates += len(corpus.duplicates)
        self.notes += _control_tokens(spec, corpus.documents)
        if corpus.drawn:
            self.notes.append(f"{spec}: {corpus.drawn}")
        return corpus.names

    def add_questions(self, wanted: BuildConfig, sources: Sequence[tuple[str, str]]) -> None:
        """Attach the questions of the user's tables to the documents."""
        for path in wanted.questions:
            documents = self.all()
            present = [(name, id) for name, id in sources if id in documents]
            asked = read_questions(path_of(path), documents, present)
            for by_language in self.roles.values():
                for known in by_language.values():
                    known.update({id: asked.of(known[id]) for id in asked.questions.keys() & known.keys()})
            every = sum(map(len, asked.questions.values()))
            note = f"{path}: {several(every, 'question')} about {several(len(asked.questions), 'document')}"
            drafted = (f"{number:,} drafted by {model}" for model, number in asked.drafted().items())
            self.notes.append("; ".join([note, *drafted]))
            if asked.unused:
                self.notes.append(f"{path}: columns not used: {', '.join(asked.unused)}")

    def add_generated(self, wanted: BuildConfig, counter: TokenCounter) -> None:
        """Add what some tasks need and no corpus contains."""
        makers: Mapping[Role, Callable[[int, str], Document]] = {
            "pairs": partial(pairs_document, wanted.seed),
            "refrain": refrain_document,
        }
        for role, make in makers.items():
            asking = [task for task in map(get_task, wanted.tasks) if role in (*task.gold, *task.noise)]
            longest = max((length for task in asking for length in wanted.of(task.name).lengths), default=0)
            for language in wanted.languages or dict.fromkeys(name for task in asking for name in task.languages):
                if any(language in task.languages for task in asking):
                    each = counter.size(make(PROBED, language)) / PROBED
                    count = max(PROBED, int(CONTEXTS * longest / each))
                    self.add([make(count, language)], (role,), wanted.languages)
        family = _proven(wanted.family) if wanted.family else PACKAGED
        for task in map(get_task, wanted.tasks):
            own, make_all = wanted.of(task.name), task.documents
            if make_all is None or not own.lengths:
                continue
            settings = [settings_of(task, wanted.dials)] if wanted.dials and task.dials else []
            for language in wanted.languages or task.languages:
                with using(family if task.private else PACKAGED):
                    made = make_all(wanted.seed, language, own.items, own.lengths[-1], counter, *settings)
                    self.add(made, ("generated",), wanted.languages)
        for language in NEUTRAL.keys() & self.languages() if wanted.padded else ():
            size = counter.size(neutral_document(PROBED, language)) / PROBED
            longest = max(length for task in wanted.tasks for length in wanted.of(task).lengths)
            self.add([neutral_document(PROBED + int(longest / size), language)], ("neutral",), ())


def gather(
    wanted: BuildConfig, counter: TokenCounter, reading: Reading | None = None, *, allow_unread: bool = False
) -> Material:
    """Read all documents; those of ``world`` in the requested languages, English by default.

    Args:
        counter: Counts tokens of generated articles.
        reading: Called with the bytes read of documents or of a file of threads, and their size if known.
        allow_unread: Whether more than a tenth of the files of a corpus may be unread.

    Raises:
        FathomError: Documents cannot be read, or there is none in a requested language.
    """
    material = Material(errata=read_errata(wanted.errata))
    if wanted.prompts == "official":
        material.wording = read_wording(wanted)
        if wanted.data:
            folders = [path_of(path) for path in (*wanted.data, *wanted.templates)]
            material.templates = read_templates(folders, material.wording.claimed)
    sources: list[tuple[str, str]] = []
    for roles, spec in (*((ROLES, spec) for spec in wanted.corpus), *wanted.own):
        if is_world(spec):
            for language in wanted.languages or ("en",):
                material.add(_world(spec, wanted, language, counter), roles, wanted.languages)
        else:
            sources += material.add_corpus(spec, roles, wanted, reading, allow_unread)
    material.add_questions(wanted, sources)
    for spec in wanted.threads:
        threads = thread_documents(spec, reading)
        material.add(threads.documents, ("thread",), wanted.languages)
        material.problems += map(str, threads.problems)
    for spec in wanted.cases:
        cases = case_documents(spec)
        material.add(cases.documents, ("case",), wanted.languages)
        material.problems += map(str, cases.problems)
    if wanted.data:
        names = tuple(dict.fromkeys(name for _, listed in wanted.sources for name in listed))
        data = read_sources(names, [path_of(folder) for folder in wanted.data], skip_bad=wanted.skip_bad)
        material.problems += data.problems
        material.unread += data.unread
        material.passed += _not_read(data.unread)
        material.bad += chain.from_iterable(data.bad.values())
        for role, listed in wanted.sources:
            for name in listed:
                material.add(data.documents.get(name, ()), (role,), wanted.languages)
        announced = {name for role, listed in wanted.sources for name in listed if role != "record"}
        if not material.languages():
            announced |= set(names)
        # Tasks report missing published records.
        material.notes += _missing([name for name in names if name in announced and not data.documents.get(name)], data)
    if material.faulty:
        count = len(material.faulty)
        material.notes.append(f"errata: {count} faulty questions or summaries of the sources left out (manifest.json)")
    material.add_generated(wanted, counter)
    if absent := [language for language in wanted.languages if language not in material.languages()]:
        raise FathomError(
            f"{', '.join(wanted.given())}: no document in language {absent[0]!r}; drop it from `languages`"
        )
    return material


def _proven(folder: str) -> Private:
    from fathom.world.private_proof import prove_private

    return prove_private(Path(folder))


def _missing(names: Sequence[str], data: Found) -> list[str]:
    """Notes on sources without documents: missing ones, and ones with only unusable data."""
    spoiled = [name for name in names if name in data.bad or name in data.files]
    absent = [name for name in names if name not in spoiled]
    notes = [f"missing data sources: {', '.join(absent)} (see `fathom data fetch --help`)"] if absent else []
    return notes + ([f"no usable data in {', '.join(spoiled)}: correct it, or download it again"] if spoiled else [])


def _of_use(wanted: BuildConfig) -> int:
    """Bytes of documents from which all contexts of a task can have texts of their own: a power of two."""
    grids = [wanted.of(task) for task in wanted.tasks]
    tokens = max((grid.items * max(grid.lengths, default=0) for grid in grids), default=0)
    return 1 << (BYTES_PER_TOKEN * tokens).bit_length()


def _not_read(unread: Iterable[Unread]) -> list[Json]:
    """Files that are not read, by name with the reason."""
    return [{"file": name, "reason": file.why} for file in unread for name in file.names]


def _control_tokens(spec: str, documents: Iterable[Document]) -> list[str]:
    """A note if documents have control tokens of models, and which."""
    tokens, sources = dict[str, None](), list[str]()
    for document in documents:
        if own := dict.fromkeys(CONTROL_TOKEN.findall(document.text)):
            tokens |= own
            sources.append(document.source)
    if not sources:
        return []
    count = several(len(sources), "document")
    return [
        f"{spec}: {count} with control tokens of models ({first_of(list(tokens), NAMED)}): {first_of(sources, NAMED)}; "
        "they count as text, but a server may read them as the end of a turn, so that a prompt ends early: compare the "
        "prompt tokens that it reports, or leave these documents out"
    ]


def _world(spec: str, wanted: BuildConfig, language: str, counter: TokenCounter) -> list[Document]:
    """Enough articles for the longest context with room to draw from, and two for each item."""
    from fathom.world.corpus import generate

    choices = parse_spec(spec)[1]
    unknown = set(choices) - {"seed"}
    if unknown:
        raise FathomError(f"{spec}: 'world' only takes seed=N, not {', '.join(sorted(unknown))}")
    seed = choices.get("seed", str(wanted.seed))
    if not seed.lstrip("-").isdigit():
        raise FathomError(f"{spec}: seed={seed} is not a whole number")
    documents: list[Document] = []
    tokens, needed = 0, wanted.lengths[-1] * 5 // 4 + 20_000
    for document in generate(int(seed), language):
        if tokens >= needed and len(documents) >= 2 * wanted.items:
            break
        documents.append(document)
        tokens += counter.size(document)
    return documents
