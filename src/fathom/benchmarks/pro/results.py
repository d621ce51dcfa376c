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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, NamedTuple, NotRequired, TypeVar

from annotated_types import Ge, Le, Predicate
from typing_extensions import TypedDict

from fathom.benchmarks.pro.secondary_tasks import (
    BY_NAME,
    DIFFICULTIES,
    LANGUAGES,
    LENGTHS,
    METRIC_NAMES,
    PRIMARY,
    QUESTIONS,
    REQUIREMENTS,
    SUMMARY_PASSES_ABOVE,
)
from fathom.documents.records import TABLES, File, checked_records, find_files, split_name, unread
from fathom.printing import printable
from fathom.storage.schema import FILLED, MismatchError, among, read_as
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
RECOMBINES = 1e-5
"""Difference of an overall score from that of its groups up to which the two are one figure."""
GAP = "the published scores by {} do not recombine: weighted by their questions they give {:.3f} points {} overall"
# Their name of a dimension, ours, and the groups that the released code always writes.
_DIMENSIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("token_length", "length", tuple(LENGTHS)),
    ("contextual_requirement", "contextual_requirement", REQUIREMENTS),
    ("difficulty", "difficulty", DIFFICULTIES),
    ("primary_task", "primary_task", PRIMARY),
    ("language", "language", tuple(LANGUAGES)),
)

Score = Annotated[float, Ge(0), Le(1), "a number from 0 to 1"]
Count = Annotated[int, Ge(0), "a whole number, 0 or more"]
Repeat = Annotated[int, Ge(1), "a whole number, 1 or more"]
T = TypeVar("T")


class ReplyRecord(TypedDict):
    """A scored reply as the released code writes it; it has more fields, which are not read."""

    id: Annotated[Annotated[str, FILLED] | int, "the name of a question"]
    secondary_task: Annotated[str, Predicate(BY_NAME.__contains__), among(BY_NAME)]
    primary_task: str
    language: Annotated[str, Predicate(LANGUAGES.__contains__), among(LANGUAGES)]
    token_length: Annotated[str, Predicate(LENGTHS.__contains__), among(LENGTHS)]
    contextual_requirement: Annotated[str, Predicate(REQUIREMENTS.__contains__), among(REQUIREMENTS)]
    difficulty: NotRequired[Annotated[str, Predicate(DIFFICULTIES.__contains__), among(DIFFICULTIES)] | None]
    metric: Score
    bon_idx: Repeat
    prediction: NotRequired[str | None]


class SummaryRecord(TypedDict):
    """The counts of a summary; its averages are in fields that depend on the number of repeats."""

    inference_iterations: Repeat
    total_questions_num: Count
    total_samples_num: Count
    fail_samples_num: Count
    inference_inconsistent_samples_num: Count


class CollectedRecord(TypedDict):
    """A line of ``summaries.jsonl``."""

    model: Annotated[str, FILLED]
    file: Annotated[str, FILLED]
    summary: Mapping[str, Any]


class ModelRecord(TypedDict):
    """A model in ``model_info.json``."""

    type: Annotated[str, Predicate(KINDS.__contains__), among(KINDS)]


@dataclass(frozen=True, slots=True)
class Published:
    """Metadata of results from the file's name and ``model_info.json``.

    Attributes:
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
class _ResultFile:
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
        tell: Called with files of a folder that are not read, and with summaries that do not recombine.

    Yields:
        The location of each file, and its rows. Single replies are ordinary rows with the names of our tasks, one epoch
        per repeat. If a model has none in a mode, each average of its summary is a row of length 0 with the facet
        ``aggregate``, which only breakdowns use; ``detail`` says where groups do not recombine to the overall score.
        ``variant`` is the mode, ``thinking`` or ``non-thinking``.

    Raises:
        FathomError: There are no such results, a model has two of one mode, or a file is damaged; the message names it.
    """
    replies: dict[tuple[str, str], _ResultFile] = {}
    summaries: dict[tuple[str, str], _ResultFile] = {}
    for result in _files(path, tell):
        known = replies if result.replies is not None else summaries
        key = result.published.model, result.published.variant
        if key in known:
            raise FathomError(
                f"{result.place}: a second file of model {short(key[0])}, {key[1]} (the first: {known[key].place}); "
                "keep one of them here"
            )
        known[key] = result
    if not replies and not summaries:
        raise FathomError(
            f"{path}: no results of LongBench Pro here; expected MODEL/{START}{SUMMARY}.json, "
            f"MODEL/{START}{REPLIES}.jsonl or {COLLECTED}.jsonl"
        )
    chosen = [replies.get(key) or summaries[key] for key in sorted({*replies, *summaries})]
    for result in chosen:
        if result.replies is None:
            averages = list(averages_of(result.summary, result.published, result.place))
            for detail in dict.fromkeys(row.detail for row in averages if row.detail and row.metric == "mean"):
                if tell is not None:
                    tell(f"{result.published.model}, {result.published.variant}: {detail}")
            yield result.place, iter(averages)
        else:
            yield result.place, replies_of(checked_records(result.replies), result.published)


RESULTS = (Results("longbench-pro", read_results, "what LongBench Pro's released code writes: replies, or averages"),)


# ------------------------------------------------------------------------------------------------------ finding


def _files(path: Path, tell: Tell | None) -> Iterator[_ResultFile]:
    if not path.exists():
        raise FathomError(f"{path}: no such file or folder")
    # The folder itself may be named after the model.
    path = path.resolve() if path.name in ("", "..") else path
    tables = find_files(path, TABLES)
    infos = {file.name.parent: file for file in tables.files if file.name.name == INFO}
    others = []
    for file in tables.files:
        if file.stem == COLLECTED:
            yield from _collected(file, _info(file, infos))
        elif file.stem.endswith((SUMMARY, REPLIES)):
            yield _single(file, _info(file, infos))
        elif file.name.name != INFO:
            others.append(str(file.name))
    if tell is not None:
        for problem in (*tables.problems, *tables.unread, *unread(path, others, f"their names do not end in {NAMES}")):
            tell(str(problem))


def _info(file: File, infos: Mapping[PurePosixPath, File]) -> tuple[PurePosixPath, File | None]:
    """The folder in which models' names start, and the file in it or above it with their kinds."""
    folder = file.name.parent
    above = next((parent for parent in (folder, *folder.parents) if parent in infos), None)
    if above is not None:
        return above, infos[above]
    # A single file or model may be read: the file for all models is then in its folder or above.
    if file.inside or folder.parts:
        return PurePosixPath(), None
    here = file.path.absolute().parent
    places = [here / INFO] if file.stem == COLLECTED else [here / INFO, here.parent / INFO]
    return PurePosixPath(), next((File.at(place) for place in places if place.is_file()), None)


def _single(file: File, info: tuple[PurePosixPath, File | None]) -> _ResultFile:
    model = file.name.parent.relative_to(info[0]).as_posix()
    published = _published(file.folder if model == "." else model, file.name.name, info[1], str(file))
    if file.stem.endswith(SUMMARY):
        return _ResultFile(str(file), published, None, _single_object(file))
    return _ResultFile(str(file), published, file, {})


def _collected(file: File, info: tuple[PurePosixPath, File | None]) -> Iterator[_ResultFile]:
    for place, record in checked_records(file):
        line = _checked(CollectedRecord, record, place)
        published = _published(line["model"], line["file"].rpartition("/")[2], info[1], place)
        yield _ResultFile(place, published, None, line["summary"])


def _published(model: str, name: str, info: File | None, place: str) -> Published:
    named = _NAME.fullmatch(split_name(name)[0])
    if not named:
        raise FathomError(
            f"{place}: the file's name is {short(name)}, expected {START}{SUMMARY}.json or {START}{REPLIES}.jsonl, "
            "where MODE is thinking or nonthinking"
        )
    kind = ""
    known = _single_object(info) if info else {}
    if model in known:
        kind = _checked(dict[str, ModelRecord], {model: known[model]}, str(info))[model]["type"].lower()
    return Published(model, named["mode"] == "thinking", int(named["context"]), int(named["repeats"]), kind)


def _single_object(file: File) -> Mapping[str, object]:
    """The single object in a file."""
    records = list(islice(checked_records(file), 2))
    if len(records) != 1:
        raise FathomError(f"{file}: expected one JSON object, found {'several' if records else 'nothing'}")
    return records[0][1]


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
                f"{place}: a second reply to question {short(record['id'])} in repeat {row.epoch}, beside {first}; "
                "keep one of them"
            )
        yield row


def _reply_row(record: Mapping[str, object], published: Published, place: str) -> Row:
    reply = _checked(ReplyRecord, record, place)
    task, prediction = BY_NAME[reply["secondary_task"]], reply.get("prediction", "unknown")
    if reply["primary_task"] != task.primary:
        raise FathomError(
            f"{place}: the field 'primary_task' is {short(reply['primary_task'])}; expected {task.primary}, to which "
            f"{task.name} belongs"
        )
    language, length = LANGUAGES[reply["language"]], LENGTHS[reply["token_length"]]
    item = f"{task.task}/{language}/{reply['id']}"
    facets: dict[str, Facet] = {
        "dataset": task.name,
        "primary_task": task.primary,
        "secondary_task": task.name,
        "contextual_requirement": reply["contextual_requirement"],
    }
    if difficulty := reply.get("difficulty"):
        facets["difficulty"] = difficulty
    if task.metric == "Summary":
        facets["pass_above"] = SUMMARY_PASSES_ABOVE
    # Files without replies do not say whether there was one, which counts as yes.
    answered = bool(prediction and prediction.strip())
    return Row(
        suite=SUITE,
        task=task.task,
        item=item,
        sample=f"{item}@{length}",
        model=published.model,
        length=length,
        value=float(reply["metric"]),
        variant=published.variant,
        epoch=reply["bon_idx"],
        valid=answered,
        answer="",
        language=language,
        metric=METRIC_NAMES[task.metric],
        grader=f"{SUITE}/{task.metric}",
        rule="official",
        source=SOURCE,
        detail="" if answered else "no reply: the released code scores it 0",
        answered=answered if "prediction" in reply else None,
        facets={**published.facets, **facets},
    )


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
    counts = _checked(SummaryRecord, summary, place)
    if counts["inference_iterations"] != published.repeats:
        raise FathomError(
            f"{place}: 'inference_iterations' is {counts['inference_iterations']}, but the name of the file says "
            f"{published.repeats}"
        )
    questions: dict[str, Facet] = {"questions": counts["total_questions_num"]}
    replies: dict[str, Facet] = {
        "replies": counts["total_samples_num"],
        "failed_replies": counts["fail_samples_num"],
        "uneven_questions": counts["inference_inconsistent_samples_num"],
    }
    averages = list(_averages(summary, published.repeats, place))
    gaps = _gaps(averages) if counts["total_questions_num"] == sum(QUESTIONS["language"].values()) else {}
    for average in averages:
        about = questions if average.dimension in ("overall", "run") else {}
        if (average.dimension, average.measure) == ("overall", "mean"):
            about = questions | replies
        gap = gaps.get((average.dimension, average.measure, average.n))
        yield _average_row(average, published, about, "" if gap is None else _sentence(average.dimension, gap))


def _gaps(averages: Sequence[_Average]) -> dict[tuple[str, str, int], float]:
    """By how many points groups exceed the overall score when weighted by their questions, where the two differ."""
    values = {average[:4]: average.value for average in averages}
    gaps = {}
    for dimension, weights in QUESTIONS.items():
        for measure, n in dict.fromkeys((average.measure, average.n) for average in averages):
            groups = {name: values.get((dimension, name, measure, n)) for name in weights}
            overall = values.get(("overall", ALL, measure, n))
            if overall is not None and None not in groups.values():
                mean = sum(weight * (groups[name] or 0.0) for name, weight in weights.items()) / sum(weights.values())
                if abs(mean - overall) > RECOMBINES:
                    gaps[dimension, measure, n] = 100 * (mean - overall)
    return gaps


def _averages(summary: Mapping[str, object], repeats: int, place: str) -> Iterator[_Average]:
    numbers = range(1, repeats + 1)
    runs = {f"inference_iteration_{run}_overall_metric": run for run in numbers}
    overall = _scores(summary, ("average_overall_metric", *runs, *(f"pass@{n}" for n in numbers)), place)
    yield _Average("overall", ALL, "mean", repeats, overall["average_overall_metric"])
    for name, run in runs.items():
        yield _Average("run", str(run), "mean", 1, overall[name])
    for name, dimension, groups in _DIMENSIONS:
        for group, value in _groups(summary, f"average_{name}_metric", groups, place):
            yield _Average(dimension, group, "mean", repeats, value)
    for n in numbers:
        best, within = _object(summary, f"BoN-{n}", place), f"{place}: BoN-{n}"
        yield _Average("overall", ALL, "best_of", n, _scores(best, ["overall_metric"], within)["overall_metric"])
        for name, dimension, groups in _DIMENSIONS:
            for group, value in _groups(best, name, groups, within):
                yield _Average(dimension, group, "best_of", n, value)
        yield _Average("overall", ALL, "pass_at", n, overall[f"pass@{n}"])


def _groups(of: Mapping[str, object], name: str, groups: tuple[str, ...], place: str) -> Iterator[tuple[str, float]]:
    """Scores by group: the fixed ones first, then all others."""
    fields = _object(of, name, place)
    for group, value in _scores(fields, (*groups, *fields), f"{place}: {name}").items():
        yield LANGUAGES.get(group, group), value


def _object(of: Mapping[str, object], name: str, place: str) -> Mapping[str, object]:
    return _checked(dict[str, Mapping[str, Any]], {name: of.get(name)}, place)[name]


def _scores(of: Mapping[str, object], names: Iterable[str], place: str) -> dict[str, float]:
    """Those scores, in their order."""
    return _checked(dict[str, Score], {name: of.get(name) for name in names}, place)


def _sentence(dimension: str, gap: float) -> str:
    return GAP.format(dimension.replace("_", " "), abs(gap), "more" if gap > 0 else "less")


def _average_row(average: _Average, published: Published, about: Mapping[str, Facet], detail: str) -> Row:
    dimension, group, measure, n, value = average
    name = f"{dimension}/{group}/{measure}@{n}"
    cell: dict[str, Facet] = {"aggregate": dimension, "group": group, "measure": measure, "n": n}
    return Row(
        suite=SUITE,
        task=group.split(".", 1)[0] if dimension == "primary_task" else ALL,
        item=name,
        sample=name,
        model=published.model,
        length=0,
        value=value,
        variant=published.variant,
        valid=True,
        language=group if dimension == "language" else "",
        metric=measure,
        grader=SUITE,
        rule="official",
        source=SOURCE,
        detail=detail,
        facets={**published.facets, **cell, **about},
    )


def _checked(schema: type[T], record: object, place: str) -> T:
    """A record as its schema says.

    Raises:
        FathomError: It is something else.
    """
    try:
        return read_as(schema, record)
    except MismatchError as error:
        raise FathomError(f"{place}: {error}") from None


def short(value: object) -> str:
    """A value for a message: short, and printable."""
    text = printable(repr(value))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
