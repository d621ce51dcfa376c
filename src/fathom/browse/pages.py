"""The data files of the pages: the list of replies, one file for each sample, and the documents in pieces."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from fathom.browse.marks import Segment, answer_pattern, answers_of, segments, task_of
from fathom.browse.reasons import judge_replies, reasons
from fathom.browse.replies import Answered, Entry, Replies
from fathom.runfile.judgements import replies_by_prompt
from fathom.suites.registry import task_title
from fathom.types import FathomError, Json, Row, Sample, Span, Task

PIECE = 100_000
"""Characters of documents in one file. All documents in a row are cut into such pieces: with a file for each document a
long prompt would need hundreds, and larger pieces would be read for little of their text."""
SHORT = 20_000
"""Characters of gold text or a distractor that a page shows at once."""
_PREVIEW, _AROUND, _EXCERPTS, _END = 100, 120, 3, 600
_CELL = 90
Score = str
SCORES: tuple[Score, ...] = ("right", "partly", "wrong", "none")


def score_word(value: float | None) -> Score:
    """``right`` (1), ``wrong`` (0), ``partly`` between them, or ``none`` without a score."""
    if value is None or value != value:
        return "none"
    return "right" if value >= 1 else "wrong" if value <= 0 else "partly"


def differ(entry: Entry) -> bool:
    """Whether the scores of two runs for a sample differ by at least a half."""
    values = [reply.row.value for reply in entry.replies if reply.row.value is not None]
    return len({reply.run for reply in entry.replies}) > 1 and bool(values) and max(values) - min(values) >= 0.5


def status_word(row: Row) -> str:
    """The status of a reply, with ``not asked`` and ``empty`` apart."""
    if row.stop == "not_asked":
        return "not asked"
    return "empty" if row.status == "ok" and row.answered is False else row.status


@dataclass(frozen=True)
class Pages:
    """The data files by name, made on demand."""

    replies: Replies
    _judge_texts: dict[tuple[int, str], Mapping[tuple[str, int], str]] = field(default_factory=dict, repr=False)

    def value(self, name: str) -> Json:
        """The content of a data file: ``list``, ``samples/NUMBER`` or ``texts/NUMBER``.

        Raises:
            KeyError: There is no such file.
        """
        if name == "list":
            return self.list()
        if match := re.fullmatch(r"samples/(\d{1,9})", name):
            number = int(match[1])
            if number < len(self.replies.entries):
                return self.detail(self.replies.entries[number])
        if (match := re.fullmatch(r"texts/(\d{1,9})", name)) and (text := self._piece(int(match[1]))):
            return text
        raise KeyError(name)

    # --------------------------------------------------------------------------------------------- the list

    def list(self, *, live: bool = False) -> Json:
        """Runs, samples and scores in columns.

        Args:
            live: Whether the server has new ones while a run goes on.
        """
        entries = self.replies.entries
        tasks = list(dict.fromkeys(entry.row.task for entry in entries))
        suites = list(dict.fromkeys(entry.suite for entry in entries))
        answered = [(number, reply) for number, entry in enumerate(entries) for reply in entry.replies]
        asked = [first.stored.asked if (first := entry.replies[0]).stored is not None else "" for entry in entries]
        return {
            "title": self.replies.title,
            **({"live": True} if live else {}),
            "runs": [
                {"model": run.model, "variant": run.variant, "name": run.name, "notes": list(run.notes)}
                for run in self.replies.runs
            ],
            "tasks": [{"name": name, "title": task_title(name)} for name in tasks],
            "suites": suites,
            "samples": {
                "id": [entry.sample for entry in entries],
                "suite": [suites.index(entry.suite) for entry in entries],
                "task": [tasks.index(entry.row.task) for entry in entries],
                "length": [entry.row.length for entry in entries],
                "depth": [_depth(entry.row) for entry in entries],
                "language": [entry.row.language for entry in entries],
                "asked": [_cell(text) for text in asked],
                "gold": [_cell(entry.row.target) for entry in entries],
            },
            "replies": {
                "sample": [number for number, _ in answered],
                "run": [reply.run for _, reply in answered],
                "epoch": [reply.row.epoch for _, reply in answered],
                "status": [status_word(reply.row) for _, reply in answered],
                "value": [_json_value(reply.row.value) for _, reply in answered],
                "answer": [_cell(_answer_text(reply)) for _, reply in answered],
            },
        }

    # --------------------------------------------------------------------------------------------- one sample

    def detail(self, entry: Entry, sample: Sample | None = None) -> Json:
        """One sample: its facts, prompt and replies.

        Args:
            sample: Its recipe, if it was read already.
        """
        row = entry.row
        suite = self.replies.suites.get(entry.suite)
        if sample is None and suite is not None:
            sample = self._samples[entry.suite].get(entry.sample)
        stored = entry.replies[0].stored
        return {
            "id": entry.sample,
            "item": row.item,
            "task": row.task,
            "suite": entry.suite,
            "length": row.length,
            "tokens": row.tokens,
            "tokenizer": row.tokenizer,
            "language": row.language,
            "chance": _json_value(row.chance),
            "targets": list(stored.targets) if stored is not None else [row.target] if row.target else [],
            "asked": stored.asked if stored is not None else "",
            "facets": [[name, _json_value(value)] for name, value in row.facets.items()],
            "prompt": self._prompt(entry.suite, sample) if sample is not None else None,
            "replies": [self._reply(reply) for reply in entry.replies],
        }

    def _prompt(self, suite: str, sample: Sample) -> Json:
        task = task_of(sample.task)
        answers = answers_of(sample, task)
        pattern = answer_pattern(answers)
        texts, sources = self._texts[suite], self._sources[suite]
        parts: list[dict[str, Json]] = []
        text = ""
        named: dict[str, Json] = {}
        marked = segments(sample, task)
        placed = any(segment.kind == "gold" for segment in marked)
        for segment in marked:
            text = part_text(segment, texts, sample)
            shown: dict[str, Json] = {"k": segment.kind, "n": len(text)}
            if isinstance(segment.part, Span):
                number, start = self._places[suite, segment.part.doc]
                title, source = sources.get(segment.part.doc, ("", ""))
                named[str(number)] = [title, source]
                shown |= {"d": number, "s": start + segment.part.start}
            hits = (
                list(pattern.finditer(text)) if pattern is not None and segment.kind not in ("gap", "question") else []
            )
            if isinstance(segment.part, str) or (segment.kind in ("gold", "question") and len(text) <= SHORT):
                shown["t"] = text
            else:
                shown["p"] = " ".join(text[: 2 * _PREVIEW].split())[:_PREVIEW]
                if hits and not placed:
                    shown["x"] = [_excerpt(text, hit) for hit in hits[:_EXCERPTS]]
            if hits:
                shown["h"] = len(hits)
            parts.append(shown)
        if parts and not any(shown["k"] == "question" for shown in parts):
            parts[-1] |= {"z": text[-_END:].strip()} if "t" not in parts[-1] else {}
        plain: dict[str, Json] = {"parts": parts, "answers": list(answers), "documents": named, "piece": PIECE}
        if "cut_from" in sample.facets and _is_gone(sample, task, parts):
            plain["note"] = "The gold text is not in this prompt: the middle was removed to shorten it."
        if sample.thinking_tokens:
            plain["thinking"] = sample.thinking
        return plain

    def _reply(self, answered: Answered) -> Json:
        row, stored, run = answered.row, answered.stored, self.replies.runs[answered.run]
        about: dict[str, Json] = {
            "run": answered.run,
            "epoch": row.epoch,
            "status": status_word(row),
            "value": _json_value(row.value),
            "stop": row.stop,
            "served": row.served,
            "tokensIn": row.tokens_in,
            "tokensOut": row.tokens_out,
            "tokensReasoning": row.tokens_reasoning,
            "seconds": _json_value(row.seconds),
            "cost": _json_value(row.cost),
            "truncated": row.truncated,
            "thinking": run.thinking,
            "byLikelihood": run.by_likelihood,
            "scores": [
                {
                    "metric": reason.metric,
                    "rule": reason.rule,
                    "value": _json_value(reason.value),
                    "valid": reason.valid,
                    "answer": reason.answer,
                    "grader": reason.grader,
                    "detail": reason.detail,
                    "words": list(reason.words),
                }
                for reason in reasons(row, stored, run.judged)
            ],
        }
        if stored is not None:
            about |= {
                "text": stored.reply.text,
                "reasoning": stored.reply.reasoning,
                "error": stored.reply.error,
                "attempts": stored.reply.attempts,
                "finished": _json_value(stored.finished_at),
                "judge": [
                    [reply.judge, reply.step, reply.text]
                    for judged in run.judged
                    for reply in judge_replies(stored, judged, self._of_judge(answered.run, judged.name))
                ],
            }
        return about

    def _of_judge(self, run: int, judge: str) -> Mapping[tuple[str, int], str]:
        folder = self.replies.runs[run].folder
        if (run, judge) not in self._judge_texts:
            self._judge_texts[run, judge] = replies_by_prompt(folder, judge) if folder is not None else {}
        return self._judge_texts[run, judge]

    # --------------------------------------------------------------------------------------------- suites

    @cached_property
    def _samples(self) -> dict[str, Mapping[str, Sample]]:
        return {name: suite.by_id() for name, suite in self.replies.suites.items()}

    @cached_property
    def _texts(self) -> dict[str, Mapping[str, str]]:
        return {name: suite.texts() for name, suite in self.replies.suites.items()}

    @cached_property
    def _sources(self) -> dict[str, dict[str, tuple[str, str]]]:
        return {name: suite.sources() for name, suite in self.replies.suites.items()}

    @cached_property
    def _documents(self) -> Sequence[tuple[str, str]]:
        """Suite and id of every document; its number is its index."""
        return [(name, document) for name, suite in self.replies.suites.items() for document in suite.sizes()]

    @cached_property
    def _starts(self) -> Sequence[int]:
        """Where each document starts in the row of all, and the end of the last one."""
        sizes = (size for suite in self.replies.suites.values() for size in suite.sizes().values())
        return list(accumulate(sizes, initial=0))

    @cached_property
    def _places(self) -> dict[tuple[str, str], tuple[int, int]]:
        """Number and start of each document."""
        return {key: (number, self._starts[number]) for number, key in enumerate(self._documents)}

    def _piece(self, piece: int) -> str:
        """A piece of the row of all documents; "" beyond its end."""
        start, end = piece * PIECE, (piece + 1) * PIECE
        texts: list[str] = []
        for number in range(bisect_right(self._starts, start) - 1, len(self._documents)):
            offset = self._starts[number]
            if offset >= end:
                break
            suite, document = self._documents[number]
            texts.append(self._texts[suite][document][max(0, start - offset) : end - offset])
        return "".join(texts)

    def text_files(self, suite: str, spans: Iterable[Span]) -> Iterator[int]:
        """Numbers of the files ``texts/NUMBER`` that hold the text of some spans."""
        for span in spans:
            start = self._places[suite, span.doc][1]
            yield from range((start + span.start) // PIECE, (start + max(span.start, span.end - 1)) // PIECE + 1)


def part_text(segment: Segment, texts: Mapping[str, str], sample: Sample) -> str:
    """The text of a part.

    Raises:
        FathomError: Its document is missing.
    """
    part = segment.part
    if isinstance(part, str):
        return part
    text = texts.get(part.doc)
    if text is None or len(text) < part.end:
        raise FathomError(f"sample {sample.id}: document {part.doc} is missing or changed; build the suite again")
    return text[part.start : part.end]


def _is_gone(sample: Sample, task: Task | None, parts: Sequence[Mapping[str, Json]]) -> bool:
    """Whether the gold text of a prompt that had one is in none of its parts."""
    had_one = "gold" in sample.facets or (task is not None and task.positioned)
    return had_one and not any(part["k"] == "gold" or "h" in part for part in parts)


def _excerpt(text: str, hit: re.Match[str]) -> list[Json]:
    before, after = text[max(0, hit.start() - _AROUND) : hit.start()], text[hit.end() : hit.end() + _AROUND]
    return [" ".join(before.split(" ")), hit[0], after]


def _answer_text(answered: Answered) -> str:
    """The answer in a line: extracted, else the beginning of the reply."""
    if answered.row.answer:
        return answered.row.answer
    return answered.stored.reply.text[: 2 * _CELL] if answered.stored is not None else ""


def _cell(text: str) -> str:
    flat = " ".join(text[: 4 * _CELL].split())
    return flat if len(flat) <= _CELL else flat[:_CELL].rstrip() + "…"


def _depth(row: Row) -> float | None:
    for name in ("depth", "depth_reached"):
        value = row.facets.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return round(float(value), 4)
    return None


def _json_value(value: object) -> Json:
    """A number, text or None; what JSON has no form for becomes None."""
    if isinstance(value, float):
        return round(value, 6) if value == value and abs(value) != float("inf") else None
    return value if isinstance(value, str | int | bool) or value is None else str(value)
