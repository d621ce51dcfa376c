"""Converts results of LongBench Pro's released code to rows: single replies if available, else the averages.

The code writes ``MODEL/MODE_context-N_bon-K_evaluation.jsonl``, one scored reply per line, and ``..._summary.json``,
the averages, where MODE is ``thinking`` or ``nonthinking``, N is the length to which prompts were truncated and K the
number of repeats. ``model_info.json`` in a parent folder gives the kind of each model. The summaries of 46 models are
published at https://github.com/caskcsg/longcontext (folder ``LongBench-Pro/output``); their replies are not.

A summary has the keys: counts of questions and replies; ``average_overall_metric`` and, for each dimension,
``average_DIMENSION_metric``; ``inference_iteration_R_overall_metric`` for each repeat R; and for each n up to the
number of repeats ``BoN-n`` (the best of the first n repeats, in every dimension) and ``pass@n`` (the share of questions
passed by one of the first n repeats).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from fathom.benchmarks.pro.secondary_tasks import (
    BY_NAME,
    DIFFICULTIES,
    LANGUAGES,
    LENGTHS,
    METRIC_NAMES,
    PRIMARY,
    REQUIREMENTS,
    SUMMARY_PASSES_ABOVE,
)
from fathom.documents.records import TABLES, File, checked_records, find_files, split_name, unread
from fathom.printing import printable
from fathom.types import Facet, FathomError, Results, Row, Tell

SUITE = "longbench_pro"
SOURCE = "longbench-pro"
LONGEST = 60
INFO = "model_info.json"
KINDS = ("Thinking", "Mixed", "Instruct")
COLLECTED, SUMMARY, REPLIES = "summaries", "_summary", "_evaluation"
NAMES = f"{SUMMARY}.json or {REPLIES}.jsonl"
START = "MODE_context-N_bon-K"
_NAME = re.compile(
    r"(?P<mode>thinking|nonthinking)_context-(?P<context>\d{1,12})_bon-(?P<repeats>\d{1,6})(_summary|_evaluation)"
)
ALL = "all"
# Their name of a dimension, ours, and the groups that the released code always writes.
_DIMENSIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("token_length", "length", tuple(LENGTHS)),
    ("contextual_requirement", "contextual_requirement", REQUIREMENTS),
    ("difficulty", "difficulty", DIFFICULTIES),
    ("primary_task", "primary_task", PRIMARY),
    ("language", "language", tuple(LANGUAGES)),
)


@dataclass(frozen=True, slots=True)
class Published:
    """Metadata of results from the file's name and ``model_info.json``.

    Attributes:
        model: Name of the model.
        thinking: Whether it was asked with thinking.
        context: Tokens to which prompts were truncated.
        repeats: Number of repetitions of every question.
        kind: ``thinking``, ``mixed`` or ``instruct``; "" if unknown.
    """

    model: str
    thinking: bool
    context: int
    repeats: int
    kind: str = ""

    @property
    def variant(self) -> str:
        """The mode as a variant."""
        return "thinking" if self.thinking else "non-thinking"

    @property
    def facets(self) -> dict[str, Facet]:
        """Facets of all rows of these results."""
        known: dict[str, Facet] = {"thinking": "on" if self.thinking else "off", "max_context": self.context}
        return known | ({"model_kind": self.kind} if self.kind else {})


@dataclass(frozen=True, slots=True)
class _Found:
    """A file of replies or a summary.

    Attributes:
        place: File, and line in a collection, for messages.
        published: Metadata of the results.
        replies: The file with the replies; None for a summary.
        summary: The summary; empty for replies.
    """

    place: str
    published: Published
    replies: File | None
    summary: Mapping[str, object]


def read_results(path: Path, tell: Tell | None = None) -> Iterator[tuple[str, Iterator[Row]]]:
    """Read results of LongBench Pro's released code.

    Args:
        path: A folder with ``MODEL/MODE_context-N_bon-K_evaluation.jsonl`` or ``..._summary.json`` at any depth, or
            with ``summaries.jsonl``, whose lines have ``model``, ``file`` (the name of a summary) and ``summary`` (its
            content); or one such file, or a ZIP archive of them, in any format of ``fathom.documents.records.TABLES``.
        tell: Called with files of a folder that are not read.

    Yields:
        The location of each file, and its rows. Single replies are ordinary rows with the names of our tasks, one epoch
        per repeat. If a model has none in a mode, each average of its summary is a row of length 0 with the facet
        ``aggregate``, which only breakdowns use. ``variant`` is the mode, ``thinking`` or ``non-thinking``.

    Raises:
        FathomError: There are no such results, a model has two of one mode, or a file is damaged; the message names it.
    """
    replies: dict[tuple[str, str], _Found] = {}
    summaries: dict[tuple[str, str], _Found] = {}
    for found in _found(path, tell):
        known = replies if found.replies is not None else summaries
        key = found.published.model, found.published.variant
        if key in known:
            raise FathomError(
                f"{found.place}: a second file of model {shown(key[0])}, {key[1]} (the first: {known[key].place}); "
                "keep one of them here"
            )
        known[key] = found
    if not replies and not summaries:
        raise FathomError(
            f"{path}: no results of LongBench Pro here; expected MODEL/{START}{SUMMARY}.json, "
            f"MODEL/{START}{REPLIES}.jsonl or {COLLECTED}.jsonl"
        )
    chosen = [replies.get(key) or summaries[key] for key in sorted({*replies, *summaries})]
    for found in chosen:
        if found.replies is None:
            yield found.place, averages_of(found.summary, found.published, found.place)
        else:
            yield found.place, replies_of(checked_records(found.replies), found.published)


RESULTS = (Results("longbench-pro", read_results, "what LongBench Pro's released code writes: replies, or averages"),)


# ------------------------------------------------------------------------------------------------------ finding


def _found(path: Path, tell: Tell | None) -> Iterator[_Found]:
    if not path.exists():
        raise FathomError(f"{path}: no such file or folder")
    # The folder itself may be named after the model.
    path = path.resolve() if path.name in ("", "..") else path
    found = find_files(path, TABLES)
    infos = {file.name.parent: file for file in found.files if file.name.name == INFO}
    others = []
    for file in found.files:
        if file.stem == COLLECTED:
            yield from _collected(file, _info(file, infos))
        elif file.stem.endswith((SUMMARY, REPLIES)):
            yield _single(file, _info(file, infos))
        elif file.name.name != INFO:
            others.append(str(file.name))
    if tell is not None:
        for problem in (*found.problems, *found.unread, *unread(path, others, f"their names do not end in {NAMES}")):
            tell(str(problem))


def _info(file: File, infos: Mapping[PurePosixPath, File]) -> tuple[PurePosixPath, File | None]:
    """The folder in which models' names start, and the file in it or above it with their kinds."""
    folder = file.name.parent
    above = next((one for one in (folder, *folder.parents) if one in infos), None)
    if above is not None:
        return above, infos[above]
    # A single file or model may be read: the file for all models is then in its folder or above.
    if file.inside or folder.parts:
        return PurePosixPath(), None
    here = file.path.absolute().parent
    places = [here / INFO] if file.stem == COLLECTED else [here / INFO, here.parent / INFO]
    return PurePosixPath(), next((File.at(place) for place in places if place.is_file()), None)


def _single(file: File, info: tuple[PurePosixPath, File | None]) -> _Found:
    model = file.name.parent.relative_to(info[0]).as_posix()
    published = _published(file.folder if model == "." else model, file.name.name, info[1], str(file))
    if file.stem.endswith(SUMMARY):
        return _Found(str(file), published, None, _object(file))
    return _Found(str(file), published, file, {})


def _collected(file: File, info: tuple[PurePosixPath, File | None]) -> Iterator[_Found]:
    for place, record in checked_records(file):
        name = text_of(record, "file", place).rpartition("/")[2]
        published = _published(text_of(record, "model", place), name, info[1], place)
        yield _Found(place, published, None, mapping_of(record, "summary", place))


def _published(model: str, name: str, info: File | None, place: str) -> Published:
    named = _NAME.fullmatch(split_name(name)[0])
    if not named:
        raise FathomError(
            f"{place}: the file's name is {shown(name)}, expected {START}{SUMMARY}.json or {START}{REPLIES}.jsonl, "
            "where MODE is thinking or nonthinking"
        )
    kind = ""
    known = _object(info) if info else {}
    if model in known:
        kind = choice_of(mapping_of(known, model, str(info)), "type", KINDS, f"{info}: {model}").lower()
    return Published(model, named["mode"] == "thinking", int(named["context"]), int(named["repeats"]), kind)


def _object(file: File) -> Mapping[str, object]:
    """The single object in a file."""
    found = list(islice(checked_records(file), 2))
    if len(found) != 1:
        raise FathomError(f"{file}: expected one JSON object, found {'several' if found else 'nothing'}")
    return found[0][1]


# -------------------------------------------------------------------------------------------------------------- replies


def replies_of(records: Iterable[tuple[str, Mapping[str, object]]], published: Published) -> Iterator[Row]:
    """Convert scored replies to rows: one reply per row, one repeat per epoch.

    The released code scores a missing or empty reply as 0; its row says so in ``detail``.

    Args:
        records: Output of the released code, with locations for messages; unused fields, including the reply itself,
            are not read.
        published: Metadata from the file's name.

    Raises:
        FathomError: A field is missing or has an unknown value, or a question has two replies in one repeat.
    """
    seen: dict[tuple[str, int], str] = {}
    for place, record in records:
        row = _reply_row(record, published, place)
        first = seen.setdefault((row.sample, row.epoch), place)
        if first != place:
            raise FathomError(
                f"{place}: a second reply to question {shown(record['id'])} in repeat {row.epoch}, beside {first}; "
                "keep one of them"
            )
        yield row


def _reply_row(record: Mapping[str, object], published: Published, place: str) -> Row:
    task = BY_NAME[choice_of(record, "secondary_task", BY_NAME, place)]
    choice_of(record, "primary_task", (task.primary,), place)
    language = LANGUAGES[choice_of(record, "language", LANGUAGES, place)]
    length = LENGTHS[choice_of(record, "token_length", LENGTHS, place)]
    item = f"{task.task}/{language}/{_id(record, place)}"
    facets: dict[str, Facet] = {
        "dataset": task.name,
        "primary_task": task.primary,
        "secondary_task": task.name,
        "contextual_requirement": choice_of(record, "contextual_requirement", REQUIREMENTS, place),
    }
    if record.get("difficulty") is not None:
        facets["difficulty"] = choice_of(record, "difficulty", DIFFICULTIES, place)
    if task.metric == "Summary":
        facets["pass_above"] = SUMMARY_PASSES_ABOVE
    came = _came(record, place)
    return Row(
        suite=SUITE,
        task=task.task,
        item=item,
        sample=f"{item}@{length}",
        model=published.model,
        length=length,
        value=score_of(record, "metric", place),
        variant=published.variant,
        epoch=count_of(record, "bon_idx", place, least=1),
        valid=came,
        answer="",
        language=language,
        metric=METRIC_NAMES[task.metric],
        grader=f"{SUITE}/{task.metric}",
        rule="official",
        source=SOURCE,
        detail="" if came else "no reply: the released code scores it 0",
        answered=came if "prediction" in record else None,
        facets={**published.facets, **facets},
    )


def _id(record: Mapping[str, object], place: str) -> str:
    name = record.get("id")
    if isinstance(name, bool) or not isinstance(name, str | int) or not str(name).strip():
        raise FathomError(f"{place}: 'id' is {shown(name)}, expected the name of a question")
    return str(name)


def _came(record: Mapping[str, object], place: str) -> bool:
    """Whether there was a reply; unknown in files without replies, which counts as yes."""
    reply = record.get("prediction", "unknown")
    if reply is not None and not isinstance(reply, str):
        raise FathomError(f"{place}: 'prediction' is {shown(reply)}, expected a text")
    return bool(reply and reply.strip())


# ------------------------------------------------------------------------------------------------------------ summaries


class _Average(NamedTuple):
    """One average; see ``fathom.analysis.breakdown`` for its fields."""

    dimension: str
    group: str
    measure: str
    n: int
    value: float


def averages_of(summary: Mapping[str, object], published: Published, place: str) -> Iterator[Row]:
    """Convert the averages of a summary to rows.

    Args:
        summary: Output of the released code; other keys are not read.
        published: Metadata from the file's name.
        place: Location of the summary, for messages.

    Raises:
        FathomError: A key or a group is missing, or a value is not a number from 0 to 1.
    """
    repeats = count_of(summary, "inference_iterations", place, least=1)
    if repeats != published.repeats:
        raise FathomError(
            f"{place}: 'inference_iterations' is {repeats}, but the name of the file says {published.repeats}"
        )
    questions: dict[str, Facet] = {"questions": count_of(summary, "total_questions_num", place)}
    replies: dict[str, Facet] = {
        "replies": count_of(summary, "total_samples_num", place),
        "failed_replies": count_of(summary, "fail_samples_num", place),
        "uneven_questions": count_of(summary, "inference_inconsistent_samples_num", place),
    }
    for one in _averages(summary, repeats, place):
        about = questions if one.dimension in ("overall", "run") else {}
        if (one.dimension, one.measure) == ("overall", "mean"):
            about = questions | replies
        yield _average_row(one, published, about)


def _averages(summary: Mapping[str, object], repeats: int, place: str) -> Iterator[_Average]:
    yield _Average("overall", ALL, "mean", repeats, score_of(summary, "average_overall_metric", place))
    for run in range(1, repeats + 1):
        value = score_of(summary, f"inference_iteration_{run}_overall_metric", place)
        yield _Average("run", str(run), "mean", 1, value)
    for name, dimension, groups in _DIMENSIONS:
        for group, value in _groups(summary, f"average_{name}_metric", groups, place):
            yield _Average(dimension, group, "mean", repeats, value)
    for n in range(1, repeats + 1):
        best, within = mapping_of(summary, f"BoN-{n}", place), f"{place}: BoN-{n}"
        yield _Average("overall", ALL, "best_of", n, score_of(best, "overall_metric", within))
        for name, dimension, groups in _DIMENSIONS:
            for group, value in _groups(best, name, groups, within):
                yield _Average(dimension, group, "best_of", n, value)
        yield _Average("overall", ALL, "pass_at", n, score_of(summary, f"pass@{n}", place))


def _groups(of: Mapping[str, object], name: str, groups: tuple[str, ...], place: str) -> Iterator[tuple[str, float]]:
    """Scores by group: the fixed ones first, then all others."""
    scores, within = mapping_of(of, name, place), f"{place}: {name}"
    for group in dict.fromkeys((*groups, *scores)):
        yield LANGUAGES.get(group, group), score_of(scores, group, within)


def _average_row(one: _Average, published: Published, about: Mapping[str, Facet]) -> Row:
    name = f"{one.dimension}/{one.group}/{one.measure}@{one.n}"
    cell: dict[str, Facet] = {"aggregate": one.dimension, "group": one.group, "measure": one.measure, "n": one.n}
    return Row(
        suite=SUITE,
        task=one.group.split(".", 1)[0] if one.dimension == "primary_task" else ALL,
        item=name,
        sample=name,
        model=published.model,
        length=0,
        value=one.value,
        variant=published.variant,
        valid=True,
        language=one.group if one.dimension == "language" else "",
        metric=one.measure,
        grader=SUITE,
        rule="official",
        source=SOURCE,
        facets={**published.facets, **cell, **about},
    )


# --------------------------------------------------------------------------------------------------------------- fields


def score_of(record: Mapping[str, object], name: str, place: str) -> float:
    """A number from 0 to 1.

    Raises:
        FathomError: It is missing or something else.
    """
    value = _value(record, name, place)
    # NaN fails the comparison.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise _wrong(place, name, value, "a number from 0 to 1")
    return float(value)


def count_of(record: Mapping[str, object], name: str, place: str, *, least: int = 0) -> int:
    """A whole number, ``least`` or more.

    Raises:
        FathomError: It is missing or something else.
    """
    value = _value(record, name, place)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise _wrong(place, name, value, f"a whole number, {least} or more")
    return value


def mapping_of(record: Mapping[str, object], name: str, place: str) -> Mapping[str, object]:
    """An object field.

    Raises:
        FathomError: It is missing or something else.
    """
    value = _value(record, name, place)
    if not isinstance(value, dict):
        raise _wrong(place, name, value, "an object")
    return value


def text_of(record: Mapping[str, object], name: str, place: str) -> str:
    """A non-empty text field.

    Raises:
        FathomError: It is missing or something else.
    """
    value = _value(record, name, place)
    if not isinstance(value, str) or not value.strip():
        raise _wrong(place, name, value, "a text")
    return value


def choice_of(record: Mapping[str, object], name: str, choices: Iterable[str], place: str) -> str:
    """A field with one of some values.

    Raises:
        FathomError: It is missing or something else.
    """
    value, known = _value(record, name, place), tuple(choices)
    if not isinstance(value, str) or value not in known:
        raise _wrong(place, name, value, f"one of {', '.join(known)}")
    return value


def shown(value: object) -> str:
    """A value for a message: short, and printable."""
    text = printable(repr(value))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _value(record: Mapping[str, object], name: str, place: str) -> object:
    if name not in record:
        raise FathomError(f"{place}: {name!r} is missing; expected what LongBench Pro's released code writes")
    return record[name]


def _wrong(place: str, name: str, value: object, expected: str) -> FathomError:
    return FathomError(f"{place}: {name!r} is {shown(value)}, expected {expected}")
