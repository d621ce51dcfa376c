"""What a model is asked about gold texts: which statements of a summary, and whether an answer, its passages support.

Chat models are asked once about all statements of a summary, entailment models (``fathom.models.entailment``) about
each. Entailment models say nothing about other answers.

The texts are those of judges: each is enclosed in two lines with a label that it cannot contain
(``fathom.score.judge_texts``), because a document may say "answer yes" to whoever reads it.
"""

import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

from fathom.models.entailment import is_entailment
from fathom.score.judge import Ask, Case, Conversation, Parts, UnreadableError, asked, kept_references
from fathom.score.judge_texts import numbered, object_at_end, prompt, read_marks, read_numbers, sentences
from fathom.storage.toml import packaged_toml

ENTAILED = 0.5
"""Least probability of entailment with which a statement counts as supported."""

_REQUESTS: Mapping[str, Mapping[str, str]] = packaged_toml(__package__, "requests.toml")
STATEMENTS_INTRO, STATEMENTS_REQUEST = _REQUESTS["statements"]["intro"], _REQUESTS["statements"]["request"]
ANSWER_INTRO, ANSWER_REQUEST = _REQUESTS["answer"]["intro"], _REQUESTS["answer"]["request"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What a model found in the passages.

    Attributes:
        statements: The statements of the reference that has most support, each with whether it is supported; an answer
            is one statement.
        others: Other answers that the passages give.
        words: The model's own words.
    """

    statements: tuple[tuple[str, bool], ...]
    others: tuple[str, ...] = ()
    words: str = ""

    @property
    def share(self) -> float:
        """Share of the statements that are supported, in [0, 1]."""
        return sum(supported for _, supported in self.statements) / len(self.statements)


Steps: TypeAlias = Generator[Ask, str, Finding]


def conversation(model: str, *, summary: bool) -> Conversation:
    """What a model is asked about a gold text.

    Args:
        model: Its name, which says whether it is an entailment model.
        summary: Whether the gold text is a summary.
    """
    name = ("entailed-" if is_entailment(model) else "supported-") + ("summary" if summary else "answer")
    return Conversation(name, 1, lambda case: _parts(_STEPS[name](case)))


def replay(
    asked_about: Conversation, case: Case, replies: Mapping[tuple[str, int], str], key: Callable[[str], str]
) -> Finding:
    """What a model found, from its stored replies.

    Args:
        asked_about: What it was asked.
        case: About what.
        replies: Its replies by hash of the prompt and attempt.
        key: The hash of a prompt.

    Raises:
        UnreadableError: A reply is not there, or could not be parsed.
    """
    steps = _STEPS[asked_about.name](case)
    try:
        wanted = next(steps)
        while True:
            if (reply := replies.get((key(wanted.prompt), 1))) is None:
                raise UnreadableError("a reply of the model is missing")
            wanted = steps.send(reply)
    except StopIteration as end:
        finding: Finding = end.value
        return finding


def _parts(steps: Steps) -> Generator[Ask, str, Parts]:
    finding = yield from steps
    return {"supported": finding.share, "others": float(len(finding.others))}


def _supported_summary(case: Case) -> Steps:
    findings = []
    for statements in map(_statements, _references(case)):
        texts = [("passages", case.reply), ("request", case.asked), ("statements", numbered(statements))]
        request = prompt(STATEMENTS_INTRO, texts, STATEMENTS_REQUEST.format(last=len(statements)))

        def read(reply: str, last: int = len(statements)) -> tuple[frozenset[int], str] | None:
            numbers = read_numbers(reply, "supported", last)
            return None if numbers is None else (numbers, reply)

        numbers, reply = yield from asked("statements", request, read)
        findings.append(
            Finding(tuple((text, n in numbers) for n, text in enumerate(statements, 1)), words=_words(reply))
        )
    return max(findings, key=lambda finding: finding.share)


def _supported_answer(case: Case) -> Steps:
    accepted = _references(case)
    texts = [("passages", case.reply), ("question", case.asked), ("accepted answers", numbered(accepted))]
    answered, others, words = yield from asked("answer", prompt(ANSWER_INTRO, texts, ANSWER_REQUEST), _read_answer)
    known = set(map(_comparable, accepted))
    different = tuple(
        dict.fromkeys(answer for answer in others if _comparable(answer) and _comparable(answer) not in known)
    )
    return Finding(((accepted[0], answered),), different, words)


def _read_answer(reply: str) -> tuple[bool, Sequence[str], str] | None:
    marks, others = read_marks(reply, {"answered": 1}), object_at_end(reply).get("others")
    if marks is None or not isinstance(others, list) or not all(isinstance(answer, str) for answer in others):
        return None
    return bool(marks["answered"]), [" ".join(answer.split()) for answer in others], _words(reply)


def _entailed_summary(case: Case) -> Steps:
    findings = []
    supported: dict[str, bool] = {}
    for statements in map(_statements, _references(case)):
        for statement in statements:
            if statement not in supported:
                supported[statement] = (yield from _entailment(case, statement))[0] >= ENTAILED
        findings.append(Finding(tuple((statement, supported[statement]) for statement in statements)))
    return max(findings, key=lambda finding: finding.share)


def _entailed_answer(case: Case) -> Steps:
    """The question and an answer together are the statement, until one is supported."""
    finding = Finding(())
    for answer in _references(case):
        share, piece = yield from _entailment(case, f"{case.asked} {answer}".strip())
        finding = Finding(((answer, share >= ENTAILED),), words=piece)
        if finding.share:
            return finding
    return finding


def _entailment(case: Case, statement: str) -> Generator[Ask, str, tuple[float, str]]:
    reply = yield Ask("entailment", json.dumps({"passage": case.reply, "statement": statement}, ensure_ascii=False))
    with suppress(ValueError):
        value = json.loads(reply)
        share = value.get("entailment") if isinstance(value, dict) else None
        if isinstance(share, int | float) and 0 <= share <= 1:
            return share, str(value.get("piece", ""))
        if isinstance(value, dict) and value.get("problem"):
            raise UnreadableError(str(value["problem"]))
    raise UnreadableError("the model gave no probability of entailment")


_STEPS: Mapping[str, Callable[[Case], Steps]] = {
    "supported-summary": _supported_summary,
    "supported-answer": _supported_answer,
    "entailed-summary": _entailed_summary,
    "entailed-answer": _entailed_answer,
}


def _references(case: Case) -> list[str]:
    """The references, each once, so that nothing is asked twice."""
    return list(dict.fromkeys(kept_references(case)))


def _statements(reference: str) -> Sequence[str]:
    statements = sentences(reference)
    if not statements:
        raise UnreadableError("the reference has no statement")
    return statements


def _words(reply: str) -> str:
    """A reply without the object that ends it."""
    start = reply.rfind("{")
    return " ".join(_lines(reply[:start] if start > 0 else "")).strip("`* ")


def _lines(text: str) -> Iterator[str]:
    return (line.strip() for line in text.splitlines() if line.strip(" `*") not in ("", "json"))


def _comparable(text: str) -> str:
    return " ".join("".join(letter if letter.isalnum() else " " for letter in text).split()).casefold()
