"""Converts Inspect logs (``.eval`` and ``.json``) to rows.

Samples of our own tasks have their facts in the sample's metadata (``item``, ``task``, ``length``, ``tokens``,
``chance``, ``language``, ``facets``); for other tasks the fields are mapped as far as possible, and ``length`` is 0 if
the log does not have it.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from fathom.documents.records import walk
from fathom.models.answers import to_reply
from fathom.models.inspect_client import read_output
from fathom.models.request_mode import answered_to_cap
from fathom.models.wire import SERVED_CHARACTERS
from fathom.plugins.extras import require
from fathom.rows.parts import MOST, Part, ReadOptions, Record, first_key, head_of, report_metric
from fathom.rows.schema import check_rows, to_frame
from fathom.storage.foreign import check_member, open_regular
from fathom.suites.registry import task_name, tasks
from fathom.types import Facet, FathomError, Row, Status

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample
    from inspect_ai.model import ModelUsage
    from inspect_ai.scorer import Score

DETAIL_AT_MOST = 500
"""Characters of an explanation that are kept: some scorers store the whole reply."""
_UNREAD = {"messages", "events", "store", "attachments", "timelines", "events_data"}
_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_NOT_SETTINGS = ("max_retries", "timeout", "attempt_timeout", "max_connections", "adaptive_connections", "batch")
_FACTS = (
    "item",
    "task",
    "suite",
    "length",
    "tokens",
    "chance",
    "language",
    "facets",
    "inputs",
    "asked",
    "tokenizer",
    "targets",
    "truncated",
)


def rows_from_inspect(log: Path, scorer: str = "") -> pl.DataFrame:
    """Read an Inspect log; a ``.eval`` file one sample at a time.

    Args:
        log: A ``.eval`` or ``.json`` log file.
        scorer: The scorer to use if samples have several; by default the first one of the log. ``SCORER.KEY`` names one
            value of a scorer that gives several.

    Returns:
        A rows table, one row per sample and epoch. Letters are C = 1, P = 0.5, I and N = 0; a score that is not a
        number in [0, 1] leaves ``value`` empty, with a note in ``detail``. A sample that failed, hit a limit, was
        refused or truncated has its own status; refusals and replies without text score 0, whatever the log says.

    Raises:
        FathomError: The file is missing or not an Inspect log, or no sample has the scorer.
    """
    part = _part(log, ReadOptions(scorer))
    return check_rows(to_frame((row for row, _ in part.rows), str(log)), str(log))


def recognises(path: Path) -> bool:
    """Whether a file is a log of Inspect: a ``.eval`` file, or a ``.json`` file that starts as its logs do."""
    if path.suffix == ".eval":
        return head_of(path, 2) == "PK"
    return path.suffix == ".json" and first_key(path) == "version" and '"eval"' in head_of(path)


def read(path: Path, options: ReadOptions) -> Iterator[Part]:
    """Read logs of Inspect: a file, or a folder of logs at any depth.

    Raises:
        FathomError: There is no log, one is damaged, or Inspect is not installed.
    """
    files = [path] if not path.is_dir() else [file for file in walk(path).files if recognises(file)]
    if not files:
        raise FathomError(f"{path}: no log of Inspect here; expected .eval or .json files")
    for file in files:
        yield _part(file, options)


def _part(log: Path, options: ReadOptions) -> Part:
    require("inspect_ai")
    from inspect_ai.log import read_eval_log

    if not log.is_file():
        raise FathomError(f"{log}: no such file; expected an Inspect log (.eval or .json)")
    _check_archive(log)
    try:
        header = read_eval_log(log, header_only=True)
    except Exception as error:  # a damaged zip, JSON or field: Inspect raises many types
        raise _unreadable(log, error) from error
    if header.status != "success":
        options.note(f"{log.name} is not a finished log (status {header.status}): its scores are those of a part")
    return Part(str(log), _rows(log, header, options), _settings(header))


def _rows(log: Path, header: EvalLog, options: ReadOptions) -> Iterator[tuple[Row, Record]]:
    chosen, scored = options.metric, False
    known = [scorer.name for scorer in header.eval.scorers or []]
    try:
        for sample in _samples(log, header):
            chosen = chosen or _first_metric(sample, options)
            has_score = options.metric or _score(sample, chosen)[1] is not None
            row = _row(header, sample, chosen if has_score else "")
            scored = scored or bool(row.metric)
            yield row, _record(sample)
    except FathomError:
        raise
    except Exception as error:  # see above
        raise _unreadable(log, error) from error
    if options.metric and not scored and options.metric not in known:
        raise FathomError(
            f"{log}: no sample was scored by {options.metric!r}; scorers of the log: {', '.join(known) or 'none'}"
        )


def _unreadable(log: Path, error: Exception) -> FathomError:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return FathomError(f"{log}: cannot be read as an Inspect log: {reason}")


def _check_archive(log: Path) -> None:
    """Refuse archives that unpack to far more than they are: Inspect reads each member whole."""
    if log.suffix != ".eval":
        return
    try:
        with open_regular(log) as stream, zipfile.ZipFile(stream) as archive:
            for member in archive.infolist():
                check_member(member)
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise _unreadable(log, error) from error


def _first_metric(sample: EvalSample, options: ReadOptions) -> str:
    """The first scorer of a sample; of several values that it gives, the first one in [0, 1]."""
    names = [name for scorer, score in (sample.scores or {}).items() for name in _names(scorer, score)]
    if len(names) > 1:
        usable = [
            name for name in names if (score := _score(sample, name)[1]) is not None and _value(score) is not None
        ]
        chosen = (usable or names)[0]
        report_metric(names, chosen, options)
        return chosen
    return names[0] if names else ""


def _names(scorer: str, score: Score) -> list[str]:
    if isinstance(score.value, Mapping) and len(score.value) > 1:
        return [f"{scorer}.{key}" for key in score.value]
    return [scorer]


def _settings(header: EvalLog) -> dict[str, object]:
    """How the model was asked, without what does not change replies."""
    config = header.plan.config.model_dump(exclude_none=True) | header.eval.model_generate_config.model_dump(
        exclude_none=True
    )
    asked = {name: value for name, value in config.items() if name not in _NOT_SETTINGS}
    return asked | {f"task.{name}": value for name, value in (header.eval.task_args or {}).items()}


def _record(sample: EvalSample) -> Record:
    """What ``--columns`` can name."""
    return {"id": sample.id, "epoch": sample.epoch, "input": sample.input, "metadata": sample.metadata or {}}


def conversations(log: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The messages of every sample of a log.

    Args:
        log: A ``.eval`` or ``.json`` log file.

    Yields:
        The name of the sample with its repeat, and its messages as Inspect writes them, with an entry at the end for
        the usage of each model.

    Raises:
        FathomError: The file is missing or not an Inspect log, or Inspect is not installed.
    """
    require("inspect_ai")
    from inspect_ai.log import read_eval_log

    _check_archive(log)
    try:
        header = read_eval_log(log, header_only=True)
        for sample in _samples(log, header, _UNREAD - {"messages", "attachments"}):
            messages = [message.model_dump() for message in sample.messages]
            yield f"{sample.id}-{sample.epoch}", [*messages, *map(_used, sample.model_usage.items())]
    except Exception as error:  # see ``_part``
        raise _unreadable(log, error) from error


def _used(usage: tuple[str, ModelUsage]) -> dict[str, Any]:
    """The usage of a model in the names of Anthropic."""
    model, own = usage
    counts = {
        "input_tokens": own.input_tokens,
        "output_tokens": own.output_tokens,
        "cache_read_input_tokens": own.input_tokens_cache_read,
        "cache_creation_input_tokens": own.input_tokens_cache_write,
    }
    return {"model": model, "usage": counts}


def _samples(log: Path, header: EvalLog, unread: set[str] = _UNREAD) -> Iterator[EvalSample]:
    from inspect_ai.log import read_eval_log, read_eval_log_samples

    # Inspect can stream a .eval file whose header lists its samples; a .json file would be read again for each one.
    if log.suffix == ".eval" and header.eval.dataset.sample_ids:
        yield from read_eval_log_samples(log, all_samples_required=False, exclude_fields=unread)
    else:
        yield from read_eval_log(log, exclude_fields=unread).samples or []


def _row(header: EvalLog, sample: EvalSample, scorer: str) -> Row:
    facts: Mapping[str, Any] = sample.metadata or {}
    name, score = _score(sample, scorer)
    status, reason, answered = _status(header, sample)
    value, detail = (_value(score), "") if score is not None else (None, "no score in the log")
    if status in ("error", "overflow"):
        value, detail = None, reason
    elif not answered:
        value, detail = 0.0, reason or "empty reply"
    elif score is not None:
        detail = (score.explanation or reason)[:DETAIL_AT_MOST]
        if value is None:
            detail = f"score {score.value!r} is not a number in [0, 1]"[:DETAIL_AT_MOST]
    own = bool(facts.get("item") and facts.get("task"))
    task = str(facts.get("task") or header.eval.task)
    graded: Mapping[str, Any] = (score.metadata or {}) if score is not None else {}
    usage = sample.output.usage
    target = sample.target if isinstance(sample.target, str) else (list(sample.target) or [""])[0]
    return Row(
        suite=str(facts.get("suite") or header.eval.dataset.name or ""),
        task=task,
        item=str(facts["item"]) if own else f"{task}/{sample.id}",
        sample=str(sample.id) if own else f"{task}/{sample.id}",
        model=header.eval.model,
        length=_whole(facts.get("length")) or 0,
        value=value,
        epoch=sample.epoch,
        valid=answered and bool(graded.get("valid", value is not None)),
        status=status,
        stop=_stop(sample),
        answer=score.answer if score is not None and answered else None,
        target=target,
        language=str(facts.get("language") or "en"),
        chance=_number(facts.get("chance")),
        tokens=_whole(facts.get("tokens")),
        tokens_in=usage.input_tokens if usage else None,
        tokens_out=usage.output_tokens if usage else None,
        tokens_reasoning=usage.reasoning_tokens if usage else None,
        truncated=_whole(facts.get("truncated")) or 0,
        cost=usage.total_cost if usage else None,
        seconds=sample.total_time,
        metric=name,
        grader=str(graded.get("grader") or name),
        rule=str(graded.get("rule") or ""),
        tokenizer=str(facts.get("tokenizer") or ""),
        source="inspect",
        task_version=_whole(header.eval.task_version) or 1,
        detail=detail,
        answered=answered,
        served="" if sample.output.model == header.eval.model else sample.output.model[:SERVED_CHARACTERS],
        facets=_facets(facts),
    )


def _score(sample: EvalSample, scorer: str) -> tuple[str, Score | None]:
    """A score by the name of its scorer, or by SCORER.KEY."""
    scores = sample.scores or {}
    name = scorer or next(iter(scores), "")
    if name in scores:
        return name, scores[name]
    first, _, key = name.partition(".")
    while first not in scores and "." in key:  # names of scorers may have dots
        more, _, key = key.partition(".")
        first = f"{first}.{more}"
    score = scores.get(first)
    if score is None or not isinstance(score.value, Mapping) or key not in score.value:
        return "", None
    return name, score.model_copy(update={"value": score.value[key]})


def _value(score: Score) -> float | None:
    value: object = score.value
    if isinstance(value, Mapping) and len(value) == 1:
        value = next(iter(value.values()))
    if isinstance(value, str):
        return _GRADES.get(value.upper())
    number = _number(value)
    return number if number is not None and 0 <= number <= 1 else None


def _status(header: EvalLog, sample: EvalSample) -> tuple[Status, str, bool]:
    """How the sample ended, by the rules of ``fathom run``, why, and whether it has text."""
    if sample.error is not None:
        return "error", sample.error.message, False
    if not sample.output.choices:
        # A scorer may use something other than the output: a scored sample was answered.
        cut = sample.limit is not None
        return ("incomplete", f"ended by {_stop(sample)}", False) if cut else ("ok", "", bool(sample.scores))
    reply = to_reply(read_output(sample.output))
    if sample.limit is not None:
        return "incomplete", f"ended by {_stop(sample)}", bool(reply.text.strip())
    task = tasks().get(task_name(str((sample.metadata or {}).get("task"))))
    # A second request always has the task's own cap; the first one has the evaluation's.
    if task is not None and task.capped and (task.follow_up or header.plan.config.max_tokens == task.max_output_tokens):
        reply = answered_to_cap(reply)
    return reply.status, reply.error, reply.answered


def _stop(sample: EvalSample) -> str:
    if sample.limit is not None:
        return f"{sample.limit.type} limit"
    return str(sample.output.stop_reason) if sample.output.choices else ""


def _facets(facts: Mapping[str, Any]) -> dict[str, Facet]:
    named = facts.get("facets")
    values = {**{name: value for name, value in facts.items() if name not in _FACTS}}
    values |= named if isinstance(named, Mapping) else {}
    return {str(name): value for name, value in values.items() if isinstance(value, str | int | float | bool)}


def _number(value: object) -> float | None:
    if isinstance(value, bool | int | float) and abs(value) <= sys.float_info.max:  # false for NaN
        return float(value)
    return None


def _whole(value: object) -> int | None:
    number = _number(value)
    return None if number is None or abs(number) > MOST else int(number)
