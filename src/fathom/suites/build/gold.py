"""Checks that gold texts are in the passages that are asked about, and names questions without a unique answer.

Items whose passage lacks too much of their gold text (``fathom.suites.tasks.support``) are left out; published records
are used unchanged, so these are only counted, and references of summaries measured in the prompts made of them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from fathom.documents.sources.errata import Erratum, fingerprint, listed
from fathom.printing import several
from fathom.suites.build.config import RECORDS
from fathom.suites.tasks.evidence import content_words, distinct
from fathom.suites.tasks.support import COVERED, KEPT, Support, best_support
from fathom.types import Candidate, CandidatePool, Document, Facet, Json, Question, Sample, Span, Task

QUOTED = 80  # characters of a question in the manifest
SHOWN = 2  # questions quoted in a note
_BY_WORDS = frozenset({"rouge", "rouge_zh", "rouge_l_sum"})  # recall the words of a whole reference
_WHY = {
    "cut": f"the truncated passage lacks more than {1 - KEPT:.0%} of the words of the gold text that the document has",
    "absent": f"the text has less than {COVERED:.0%} of the words of the gold text",
}


@dataclass
class GoldChecks:
    """What was found in the gold texts of a task in one language.

    Attributes:
        known: Errata by fingerprint.
        checked: Number of gold texts measured.
        unmeasured: Number of answers that words cannot support or refute, such as *yes*.
        faults: Number of gold texts by fault (``Support.fault``): left out, or, of records, only counted.
        errata: Number of questions that the errata name, by their fault; kept in published records, else left out.
        questions: The questions of these, and those without a unique answer, as JSON objects.
        shared: Questions asked of several documents with different answers.
        disagreeing: Questions with several answers about one document that have no word in common.
        supports: Facets of the built items that were measured.
    """

    known: Mapping[str, Erratum] = field(default_factory=dict)
    checked: int = 0
    unmeasured: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    errata: dict[str, int] = field(default_factory=dict)
    questions: list[Json] = field(default_factory=list)
    shared: list[str] = field(default_factory=list)
    disagreeing: list[str] = field(default_factory=list)
    supports: list[Mapping[str, Facet]] = field(default_factory=list)

    def add_built(self, task: Task, candidate: Candidate | None, samples: Iterable[Sample]) -> None:
        """Count an item that was built; of records, its samples that were ``measured``."""
        if task.gold == RECORDS:
            built = (sample.facets for sample in samples)
            self.supports += [facets for facets in built if {"support", "coverage"} <= facets.keys()]
        else:
            self.supports += [facets for facets in (candidate.facets if candidate else ()) if facets]

    def record(self) -> Mapping[str, Json]:
        """For the manifest."""
        kept, coverage = ([float(facets[name]) for facets in self.supports] for name in ("support", "coverage"))
        return {
            "checked": self.checked,
            "unmeasured": self.unmeasured,
            "faults": self.faults,
            "errata": self.errata,
            **({"support": _spread(kept), "coverage": _spread(coverage)} if kept else {}),
            "questions": self.questions,
        }

    def notes(self, task: Task) -> Iterator[str]:
        """Messages for the user; those on a task of records say what was not left out."""
        published = task.gold == RECORDS
        for fault, count in self.faults.items():
            if published:
                yield f"{task.name}: {count} of {self.checked} gold texts are not in the record: {_WHY[fault]}; kept"
            else:
                yield f"{task.name}: {count} of {self.checked} gold texts left out: {_WHY[fault]}"
        for fault, count in self.errata.items():
            done = "kept as published" if published else "left out"
            yield f"{task.name}: {several(count, 'question is', 'questions are')} in the errata ({fault}); {done}"
        kept, coverage = ([float(facets[name]) for facets in self.supports] for name in ("support", "coverage"))
        if kept:
            yield (
                f"{task.name}: passages have {median(coverage):.0%} of the words of their gold texts (median; at least "
                f"{min(coverage):.0%}), {median(kept):.0%} of those in the whole documents (at least {min(kept):.0%})"
            )
        for names, what in (
            (self.shared, "asked of several documents with different answers"),
            (self.disagreeing, "with answers without a common word about the same document"),
        ):
            if names:
                counted = several(len(names), "question")
                yield f"{task.name}: {counted} {what}: {', '.join(map(_quoted, names[:SHOWN]))}{_more(names)}"

    def check(self, task: Task, pool: CandidatePool) -> CandidatePool:
        """Check the gold texts of a task.

        Args:
            task: A task whose gold answers are in its gold passages (``Task.gold_in_text``).

        Returns:
            The pool, whose candidates have only supported questions and the facets ``support`` (of the words of the
            gold text that the document has, the share in the passage) and ``coverage`` (of all its words); that of
            records unchanged.
        """
        if task.gold == RECORDS:
            for candidate in pool.candidates or ():
                self._check_record(candidate)
            return pool
        candidates = [kept for candidate in pool.candidates or () if (kept := self._supported(candidate)).questions]
        self.shared, self.disagreeing = _shared(candidates), _disagreeing(candidates)
        why = {"shared": set(self.shared), "disagreeing": set(self.disagreeing)}
        for candidate in candidates:
            for question in candidate.questions:
                for name, texts in why.items():
                    if question.text in texts:
                        self.questions += _records_of(candidate.document, question, name)
        return replace(pool, candidates=candidates)

    def _supported(self, candidate: Candidate) -> Candidate:
        """A candidate with its supported questions and their facets.

        Evidence that the source gives for an answer counts for more than words: such a question stays, and is named.
        Documents come without what the errata name; left are questions of tables, and those that a source asks twice,
        which errata name with the answers of both.
        """
        document = candidate.document
        passage = "\n\n".join(document.text[span.start : span.end] for span in candidate.spans)
        kept: list[tuple[Question, Mapping[str, Facet]]] = []
        for question in candidate.questions:
            if name := listed(self.known, question.text, question.answers):
                self._count_erratum(document, question, name)
                continue
            support = best_support(question.answers, passage, document.text)
            known = bool(question.evidence) and not _is_request(question)
            if not support.fault or known:
                kept.append((question, _facets(support)))
            if support.fault:
                fault = support.fault + " (kept: evidence)" * known
                self.questions += _records_of(document, question, fault, support)
            self._count(support, left_out=not known)
        return replace(
            candidate, questions=tuple(question for question, _ in kept), facets=tuple(facets for _, facets in kept)
        )

    def _check_record(self, candidate: Candidate) -> None:
        """Count the faults of a published record: its whole context, and its answers or those of its question."""
        document, span = candidate.document, candidate.spans[0]
        passage = document.text[span.start : span.end]
        answers = document.meta.get("answers")
        texts = tuple(map(str, answers)) if isinstance(answers, list | tuple) else ()
        start, end = document.passages[-1] if len(document.passages) == 2 else (0, 0)
        asked = str(document.meta.get("input") or document.text[start:end])
        for question in candidate.questions or ((Question(asked, texts),) if texts else ()):
            if name := listed(self.known, question.text, question.answers):
                self._count_erratum(document, question, name)
            support = best_support(question.answers, passage, passage)
            self._count(support)
            if support.fault:
                self.questions += _records_of(document, question, support.fault, support)

    def _count_erratum(self, document: Document, question: Question, name: str) -> None:
        """Count and name a question that the errata name."""
        fault = self.known[name].fault
        self.errata[fault] = self.errata.get(fault, 0) + 1
        self.questions += _records_of(document, question, f"errata: {fault}")

    def _count(self, support: Support, left_out: bool = True) -> None:
        """Count one measured gold text, and its fault unless it is kept."""
        self.checked += 1
        self.unmeasured += not support.words
        if support.fault and left_out:
            self.faults[support.fault] = self.faults.get(support.fault, 0) + 1


def measured(task: Task, candidate: Candidate | None, samples: Sequence[Sample]) -> list[Sample]:
    """The samples of a record; of a summary with the facets ``support`` and ``coverage`` of their own prompts.

    Args:
        task: A task of records whose gold answers are in their texts.
        candidate: The record, whose first span is its whole text.
        samples: What was made of it; questions without their text are left as they are.
    """
    if candidate is None or task.metric not in _BY_WORDS:
        return list(samples)
    document, whole = candidate.document, candidate.spans[0]
    with_facets = []
    for sample in samples:
        passage = "\n\n".join(
            document.text[part.start : part.end]
            for part in sample.parts
            if isinstance(part, Span) and part.doc == document.id and whole.start <= part.start < whole.end
        )
        facets: Mapping[str, Facet] = {}
        if passage and sample.targets:
            facets = _facets(best_support(sample.targets, passage, document.text[whole.start : whole.end]))
        with_facets.append(replace(sample, facets={**sample.facets, **facets}))
    return with_facets


def _is_request(question: Question) -> bool:
    """Whether a summary is asked for."""
    return not question.text or question.meta.get("kind") == "summary"


def _facets(support: Support) -> Mapping[str, Facet]:
    return {"support": round(support.words_kept, 2), "coverage": round(support.coverage, 2)} if support.words else {}


def _asked(candidates: Iterable[Candidate]) -> Iterator[tuple[Document, Question]]:
    """The questions that ask for an answer: requests for summaries are alike by nature."""
    for candidate in candidates:
        for question in candidate.questions:
            if not _is_request(question):
                yield candidate.document, question


def _shared(candidates: Sequence[Candidate]) -> list[str]:
    """Questions that documents answer differently, so that only the number of the passage says which is meant."""
    answers: dict[str, dict[str, frozenset[str]]] = {}
    first: dict[str, str] = {}
    for document, question in _asked(candidates):
        plain = " ".join(question.text.split()).casefold()
        first.setdefault(plain, question.text)
        known = answers.setdefault(plain, {})
        known[document.id] = known.get(document.id, frozenset()) | {_folded(answer) for answer in question.answers}
    differing = (name for name, by in answers.items() if len(by) > 1 and not frozenset.intersection(*by.values()))
    return [first[name] for name in differing]


def _disagreeing(candidates: Sequence[Candidate]) -> list[str]:
    """Questions that the source asks several times about a document, with answers that share no word."""
    texts: dict[str, None] = {}
    for document in {candidate.document.id: candidate.document for candidate in candidates}.values():
        for asked in distinct(document.questions):
            same = [question for question in document.questions if question.text == asked.text]
            words = [content_words(" ".join(question.answers)) for question in same]
            if not _is_request(asked) and len(words) > 1 and not frozenset.intersection(*words):
                texts[asked.text] = None
    return list(texts)


def _records_of(document: Document, question: Question, fault: str, support: Support | None = None) -> list[Json]:
    """A question for the manifest; once for each time that its source asks it, each with its own answers."""
    measured: dict[str, Json] = (
        {"support": round(support.words_kept, 2), "coverage": round(support.coverage, 2)} if support else {}
    )
    return [
        {
            "fault": fault,
            "question": same.text[:QUOTED],
            "document": document.source,
            "fingerprint": fingerprint(same.text, same.answers),
            **measured,
        }
        for same in [same for same in document.questions if same.text == question.text] or [question]
    ]


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _spread(values: Sequence[float]) -> Mapping[str, Json]:
    return {"least": min(values), "median": round(median(values), 2)}


def _quoted(text: str) -> str:
    words = " ".join(text.split())
    return f'"{words[: QUOTED - 3]}..."' if len(words) > QUOTED else f'"{words}"'


def _more(names: Sequence[str]) -> str:
    return f" and {len(names) - SHOWN} more (manifest.json)" if len(names) > SHOWN else ""
