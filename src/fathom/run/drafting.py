"""``draft``: have a model write questions about documents, and keep those that a second model must read to answer.

Requests, retries, limits and stored replies are those of judging, so an interrupted drafting resumes, and no request is
paid for twice.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from fathom.documents.corpus.locating import find_quotation
from fathom.documents.corpus.questions import checksum
from fathom.documents.corpus.text import normalise
from fathom.models.prices import price_range, total_cost
from fathom.models.protocol import is_baseline
from fathom.printing import readable, several
from fathom.run.batches.open import described
from fathom.run.cases.model import CaseModel, case_settings, check_plan
from fathom.run.cases.pending import PendingCases, estimate
from fathom.runfile.judgements import Judgement, Spent, case_key, hashed
from fathom.runfile.settings import DraftSettings
from fathom.score.answers import short_answer
from fathom.score.dialects import without_reasoning
from fathom.score.judge import Ask, Case, Conversation, Form, Parts, asked
from fathom.score.judge_texts import REMINDER
from fathom.score.text import token_f1
from fathom.storage.atomic import whole_file
from fathom.storage.toml import packaged_toml
from fathom.tokens.counts import cut_points
from fathom.types import Document, FathomError
from fathom.types.choices import THRESHOLD

COLUMNS = ("document", "question", "answer", "evidence", "page", "drafted", "checked")
PASSAGE = 8_000  # characters of a passage that questions are about, at most
LONGEST_ANSWER = 100  # characters
FORMULA = "=+-@"
"""First characters of what a spreadsheet takes for a formula."""
SHORTEST = 200  # characters of a passage

_REQUESTS: Mapping[str, str] = packaged_toml(__package__, "requests.toml")["draft"]
DRAFT_PROMPT, OPEN_PROMPT, CLOSED_PROMPT = _REQUESTS["questions"], _REQUESTS["open"], _REQUESTS["closed"]
_TEXTS: Form = {name: {"type": "string"} for name in ("question", "answer", "evidence")}
_QUESTION: Form = {"type": "object", "properties": _TEXTS, "required": [*_TEXTS], "additionalProperties": False}
_DRAFTS: Form = {
    "type": "object",
    "properties": {"questions": {"type": "array", "items": _QUESTION}},
    "required": ["questions"],
    "additionalProperties": False,
}
DRAFT_FORM: Form = {"type": "json_schema", "json_schema": {"name": "questions", "strict": True, "schema": _DRAFTS}}


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document, and how many questions are to be written about it."""

    document: Document
    start: int
    end: int
    count: int

    @property
    def text(self) -> str:
        """Its text."""
        return self.document.text[self.start : self.end]

    @property
    def prompt(self) -> str:
        """The request for its questions."""
        return DRAFT_PROMPT.format(count=self.count, text=self.text)


@dataclass(frozen=True, slots=True)
class Drafted:
    """A question about a passage; ``reason`` says why it is not kept, "" if it is, ``reply`` is one without any."""

    passage: Passage
    question: str
    answer: str
    evidence: str
    reason: str = ""
    reply: str = ""


@readable
@dataclass(frozen=True, slots=True)
class DraftPlan:
    """Forecast of a drafting.

    Attributes:
        documents: Documents with passages that are long enough.
        passages: Passages without drafts yet.
        requests: Approximate number of requests to both models.
        tokens_in: Approximate prompt tokens.
        cost_least: US dollars if all replies are empty; None if a price is unknown.
        cost_most: US dollars if all replies reach their cap.
        checked: Month in which the prices were last checked.
        batches: How the requests are sent if they are sent in batches; "" for plain requests.
    """

    documents: int
    passages: int
    requests: int
    tokens_in: int
    cost_least: float | None
    cost_most: float | None
    checked: str = ""
    batches: str = ""

    def __str__(self) -> str:
        price = price_range(self.cost_least, self.cost_most, self.checked)
        return (
            f"questions about {several(self.documents, 'document')}: {several(self.passages, 'passage')} to draft; "
            f"about {several(self.requests, 'request')} to both models, {self.tokens_in:,} tokens in, {price}"
            f"{f'; {self.batches}' if self.batches else ''}"
        )


@readable
@dataclass(frozen=True, slots=True)
class DraftSummary:
    """Result of ``draft``.

    Attributes:
        out: The table of questions.
        kept: Questions in it.
        documents: Documents that they are about.
        rejected: Number of questions that were not kept, by reason.
        spent: What the drafting model and the checking model have cost.
        stopped: Why it stopped early; "" if it did not.
        hints: Notes for the user.
    """

    out: Path
    kept: int
    documents: int
    rejected: Mapping[str, int]
    spent: tuple[Spent, Spent]
    stopped: str = ""
    hints: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.stopped:
            return f"{self.out}: stopped: {self.stopped}"
        tokens = sum(spent.tokens_in + spent.tokens_out for spent in self.spent)
        lost = sum(self.rejected.values())
        kept = f"{several(self.kept, 'question')} about {several(self.documents, 'document')}"
        return f"{self.out}: {kept}, {lost:,} rejected; {tokens:,} tokens"


@dataclass(frozen=True, slots=True)
class DraftCallbacks:
    """Optional callbacks.

    Attributes:
        confirm: Called with the plan before any request; False stops.
        progress: Called with the stage, finished passages or questions, and all of them.
        tell: Called with a line about each batch.
    """

    confirm: Callable[[DraftPlan], bool] | None = None
    progress: Callable[[str, int, int], None] | None = None
    tell: Callable[[str], None] | None = None


NO_CALLBACKS = DraftCallbacks()


def draft(
    documents: Sequence[Document],
    model: str,
    checker: str,
    settings: DraftSettings,
    *,
    out: Path,
    callbacks: DraftCallbacks = NO_CALLBACKS,
) -> DraftSummary:
    """Write a table of questions about documents; repeating the call asks only for what is missing.

    A question is kept if its evidence is in the passage word for word, and ``checker`` answers it with the passage but
    not without it. Replies, and the rejected questions with the reasons, are in a folder beside the table.

    Args:
        documents: The documents.
        model: The model that writes questions.
        checker: The model that checks them.
        settings: How both models are asked, and up to which limits; and how many questions are written.
        out: The table to write, a ``.csv`` file.
        callbacks: Functions of the caller.

    Raises:
        FathomError: No document is long enough, the table was changed since it was written, a model cannot be asked, or
            a limit is reached. All replies are kept.
    """
    for name in (model, checker):
        if is_baseline(name):
            raise FathomError(f"{name}: an offline baseline cannot write or check questions; name a model")
    if out.suffix.lower() != ".csv":
        raise FathomError(f"`out` {out}: the name of the table must end in .csv")
    passages = [passage for document in documents for passage in passages_of(document, settings.per_document)]
    if not passages:
        raise FathomError(f"no document has at least {SHORTEST} characters of text")
    folder = out.with_suffix(".draft")
    mark = folder / "written"
    if out.exists() and not (mark.is_file() and mark.read_text("utf-8") == checksum(out)):
        raise FathomError(f"{out} was changed, or not written by this command; choose another `out`, or rename it")
    writer = _model(folder, model, settings, settings.model_base_url, "drafting with")
    reviewer = _model(folder, checker, settings, settings.checker_base_url or settings.model_base_url, "checking with")
    waiting = writer.pending((DRAFT, Case(passage.prompt, "", ())) for passage in passages)
    plan = _plan(passages, waiting, writer, reviewer)
    if plan.requests:
        check_plan("drafting", model, settings, writer.spent, plan.tokens_in, plan.cost_least)
    if callbacks.confirm is not None and not callbacks.confirm(plan):
        return DraftSummary(out, 0, 0, {}, (Spent(), Spent()), "not confirmed")
    folder.mkdir(parents=True, exist_ok=True)
    _ask(writer, waiting, "drafting", callbacks)
    texts = writer.replies()
    questions = _without_duplicates(question for passage in passages for question in _drafts_of(passage, texts))
    if reviewer.name != writer.name:
        reviewer = replace(reviewer, used=writer.spent)
    else:  # replies that could not be parsed were deleted before
        reviewer = replace(reviewer, settings=settings.but(again=False))
    checks = reviewer.pending((CHECK, _check_case(question)) for question in questions if not question.reason)
    _ask(reviewer, checks, "checking", callbacks)
    outcomes = reviewer.outcomes()
    done = [_checked(question, outcomes) for question in questions]
    kept = [question for question in done if not question.reason]
    _write(out, COLUMNS, (_row(question, model, checker) for question in kept))
    mark.write_text(checksum(out), "utf-8")
    rejected = [question for question in done if question.reason]
    columns = ("reason", *COLUMNS, "reply")
    lines = ((question.reason, *_row(question, model, checker), question.reply) for question in rejected)
    _write(folder / "rejected.csv", columns, map(_as_text, lines))
    return DraftSummary(
        out,
        len(kept),
        len({question.passage.document.id for question in kept}),
        Counter(question.reason for question in rejected),
        (writer.spent, reviewer.spent),
        hints=_hints(kept, rejected, folder, model, checker),
    )


def passages_of(document: Document, questions: int) -> list[Passage]:
    """Passages spread evenly over a document, at most one for each question."""
    points = list(cut_points(document.text))
    pieces: list[tuple[int, int]] = []
    start = 0
    for before, end in pairwise(points):
        if end - start > PASSAGE and before > start:
            pieces.append((start, before))
            start = before
    pieces.append((start, len(document.text)))
    pieces = [(start, end) for start, end in pieces if len(document.text[start:end].strip()) >= SHORTEST]
    count = min(questions, len(pieces))
    chosen = [pieces[(2 * number + 1) * len(pieces) // (2 * count)] for number in range(count)]
    share = [questions // count + (number < questions % count) for number in range(count)] if count else []
    return [Passage(document, *piece, number) for piece, number in zip(chosen, share, strict=True)]


# --------------------------------------------------------------------------------------------- conversations


def _draft_steps(case: Case) -> Generator[Ask, str, Parts]:
    questions = yield from asked("draft", case.asked, read_drafts, DRAFT_FORM)
    return {"questions": float(len(questions))}


def _check_steps(case: Case) -> Generator[Ask, str, Parts]:
    """Without the text first: that is cheap, and a question that is answered needs no second request."""
    reply = yield Ask("closed", CLOSED_PROMPT.format(question=case.asked))
    closed = _agreement(reply, case)
    if closed >= THRESHOLD:
        return {"closed": closed}
    reply = yield Ask("open", OPEN_PROMPT.format(question=case.asked, text=case.reply))
    return {"closed": closed, "open": _agreement(reply, case)}


def _agreement(reply: str, case: Case) -> float:
    short = short_answer(reply)
    return 0.0 if short is None else max(token_f1(short, answer, case.language) for answer in case.references)


DRAFT = Conversation("draft", 1, _draft_steps)
CHECK = Conversation("draft-check", 1, _check_steps)


_FENCED = re.compile(r"^[ \t]*```(?:json)?[ \t]*\n(.*?)^[ \t]*```", re.MULTILINE | re.DOTALL | re.IGNORECASE)


def read_drafts(reply: str) -> list[object] | None:
    """The entries of ``questions`` in a reply's JSON object, alone, in a fence or between sentences; None if none."""
    text = without_reasoning(reply).strip()
    fenced = [match[1] for match in _FENCED.finditer(text)]
    for candidate in (text, *reversed(fenced), text[text.find("{") : text.rfind("}") + 1]):
        with suppress(ValueError, RecursionError):
            value = json.loads(candidate)
            if isinstance(value, dict) and isinstance(value.get("questions"), list):
                return list(value["questions"])
    return None


# ----------------------------------------------------------------------------------------------- questions


def _drafts_of(passage: Passage, texts: Mapping[tuple[str, int], str]) -> Iterator[Drafted]:
    """The questions about a passage in the model's replies."""
    reply = ""
    for request in (passage.prompt, f"{passage.prompt}\n\n{REMINDER}"):
        text = texts.get((hashed(request), 1))
        reply = text or reply
        entries = read_drafts(text) if text is not None else None
        if entries is not None:
            yield from (_drafted(passage, entry) for entry in entries[: passage.count])
            return
    yield Drafted(passage, "", "", "", "the model's reply is not the JSON object that was requested", reply)


def _drafted(passage: Passage, entry: object) -> Drafted:
    parts = [entry.get(name) for name in ("question", "answer", "evidence")] if isinstance(entry, dict) else []
    if len(parts) != 3 or not all(isinstance(part, str) and normalise(part) for part in parts):
        return Drafted(passage, "", "", "", "question, answer or evidence is missing")
    question, answer, evidence = (" ".join(normalise(str(part)).split()) for part in parts)
    evidence = evidence.lstrip(FORMULA + " ")  # marks of a list, which are no part of the sentence
    reason = ""
    if not evidence or find_quotation(passage.text, evidence) is None:
        reason = "the evidence is not in the text word for word"
    elif len(answer) > LONGEST_ANSWER:
        reason = "the answer is too long"
    elif question[0] in FORMULA or answer[0] in "=@":
        reason = "the question or the answer looks like a formula"
    return Drafted(passage, question, answer, evidence, reason)


def _as_text(row: Iterable[str]) -> list[str]:
    """A row of rejected questions, none of which a spreadsheet takes for a formula."""
    return [f"'{field}" if field[:1] in tuple(FORMULA) else field for field in row]


def _without_duplicates(drafted: Iterable[Drafted]) -> list[Drafted]:
    seen: set[str] = set()
    questions = []
    for question in drafted:
        key = question.question.casefold()
        again = key in seen and not question.reason
        seen.add(key)
        questions.append(replace(question, reason="the question was drafted before") if again else question)
    return questions


def _check_case(question: Drafted) -> Case:
    return Case(question.question, question.passage.text, (question.answer,), question.passage.document.language)


def _checked(question: Drafted, outcomes: Mapping[str, Judgement]) -> Drafted:
    if question.reason:
        return question
    outcome = outcomes.get(case_key(CHECK, _check_case(question)))
    if outcome is None or outcome.status != "ok":
        reason = "the checking model gave no answer"
    elif "open" not in outcome.parts:
        reason = "the checking model answers it without the text"
    elif outcome.parts["open"] < THRESHOLD:
        reason = "the checking model does not give this answer from the text"
    else:
        return question
    return replace(question, reason=reason)


def _row(question: Drafted, model: str, checker: str) -> tuple[str, ...]:
    document = question.passage.document
    place = find_quotation(document.text, question.evidence)
    page = document.page_of(place[0]) if place else None
    return document.source, question.question, question.answer, question.evidence, str(page or ""), model, checker


def _write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with whole_file(path) as stream:
        csv.writer(stream, lineterminator="\n").writerows([columns, *rows])


def _hints(
    kept: Sequence[Drafted], rejected: Sequence[Drafted], folder: Path, model: str, checker: str
) -> tuple[str, ...]:
    hints = [
        f"rejected: {reason}: {count:,}"
        for reason, count in Counter(question.reason for question in rejected).most_common()
    ]
    if rejected:
        hints.append(f"the rejected questions are in {folder / 'rejected.csv'}")
    if model == checker:
        hints.append("the same model drafted and checked the questions; another checker finds more faults")
    if kept:
        hints.append("read the questions before you rely on them: a model wrote them")
    return tuple(hints)


# ------------------------------------------------------------------------------------------------ requests


def _model(folder: Path, model: str, settings: DraftSettings, base_url: str | None, purpose: str) -> CaseModel:
    return CaseModel(folder, case_settings(model, settings, base_url), settings, purpose=purpose, results="replies")


def _plan(passages: Sequence[Passage], waiting: PendingCases, writer: CaseModel, reviewer: CaseModel) -> DraftPlan:
    """What is ahead; the checks as if every question of a pending passage were written."""
    prompts = {pending.case.asked for pending in waiting.cases}
    missing = [passage for passage in passages if passage.prompt in prompts]
    drafting = [estimate(passage.prompt) for passage in missing]
    checking = [tokens for passage in missing for tokens in (estimate(passage.text) + 100, 100) * passage.count]
    both = (writer, drafting), (reviewer, checking)
    least = total_cost(model.price.cost(sum(tokens), 0) for model, tokens in both)
    most = total_cost(model.price.cost(sum(tokens), model.cap * len(tokens)) for model, tokens in both)
    return DraftPlan(
        documents=len({passage.document.id for passage in passages}),
        passages=len(missing),
        requests=len(drafting) + len(checking),
        tokens_in=sum(drafting) + sum(checking),
        cost_least=least,
        cost_most=most,
        checked=min(writer.price.checked, reviewer.price.checked) if least is not None else "",
        batches=described() if writer.settings.batch else "",
    )


def _ask(model: CaseModel, waiting: PendingCases, stage: str, callbacks: DraftCallbacks) -> None:
    """Send the requests of all cases that have no outcome yet."""
    if waiting.cases:
        show, tell = callbacks.progress, callbacks.tell
        progress = None if show is None else lambda state: show(stage, state.finished, state.total)
        model.ask(waiting, model.open(), progress=progress, tell=tell)
