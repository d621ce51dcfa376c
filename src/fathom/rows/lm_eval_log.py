"""Converts results of lm-evaluation-harness to rows.

With ``--log_samples`` the harness writes, per model, ``results_DATE.json`` and ``samples_TASK_DATE.jsonl``: one object
per line with ``doc_id``, ``doc``, ``target``, ``resps``, ``filtered_resps``, ``filter``, ``metrics`` (names; missing in
older versions) and one field per metric. A document has one line per filter. Format: the harness's own writer
(``lm_eval/loggers/evaluation_tracker.py``, versions 0.4.0 to 0.4.9).

RULER's tasks name their metrics by length and give -1 for every other length; ``doc.max_length`` is the length.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from fathom.documents.records import ARCHIVE, TABLES, File, checked_records, find_files, format_of, unread
from fathom.rows.parts import (
    Part,
    ReadOptions,
    Record,
    as_mapping,
    first_key,
    fullest,
    has_text,
    head_of,
    is_absent,
    report_metric,
    unit,
    usable_metrics,
    whole,
    with_score,
)
from fathom.rows.schema import check_rows, to_frame
from fathom.types import FathomError, Row

_SAMPLES = re.compile(r"samples_(?P<task>.+?)(?:_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+))?")
_RESULTS = re.compile(r"results_\d{4}-\d\d-\d\dT[\d.-]+\.json")
_NOT_METRICS = frozenset(
    {
        "doc_id",
        "doc",
        "target",
        "arguments",
        "resps",
        "filtered_resps",
        "filter",
        "metrics",
        "doc_hash",
        "prompt_hash",
        "target_hash",
    }
)


def rows_from_lm_eval(
    path: Path,
    metric: str = "",
    filter_name: str = "",
    model: str = "",
    tell: Callable[[str], None] | None = None,
) -> pl.DataFrame:
    """Read the logged samples of lm-evaluation-harness.

    Args:
        path: A ``samples_TASK_DATE.jsonl`` file, or a results folder or ZIP archive with such files at any depth; other
            formats of ``fathom.documents.records.TABLES`` are accepted too.
        metric: The metric to use; by default the one named after the document's ``max_length`` (RULER), else the first
            of each file whose values are all numbers in [0, 1].
        filter_name: The filter to use; by default the first of each file.
        model: The model's name; by default from ``results_DATE.json`` in the same folder, else the folder's name.
        tell: Called with files of a folder that are not read.

    Returns:
        A rows table, one row per document. ``length`` is ``doc.max_length``, or 0 if missing: the harness does not
        record lengths. Every reply counts as ``ok``: the harness does not record stop reasons.

    Raises:
        FathomError: There is no such file, a line is not a sample, or no sample has the filter or a metric.
    """
    files, beside = _files(path, tell)
    options = ReadOptions(metric, tell=tell)
    parts = [_part(file, beside, options, filter_name, model) for file in files]
    rows = [row for part in parts for row, _ in part.rows]
    return check_rows(to_frame(rows, str(path)), str(path))


def _files(path: Path, tell: Callable[[str], None] | None) -> tuple[list[File], Sequence[File]]:
    """Return the sample files and all files; report skipped ones through ``tell``."""
    listing = find_files(path, TABLES)
    alone = path.is_file() and path.suffix.lower() != ARCHIVE
    files = [file for file in listing.files if alone or file.name.name.startswith("samples_")]
    if not files:
        raise FathomError(
            f"{path}: no samples_*.jsonl here; run lm-evaluation-harness with --log_samples and --output_path"
        )
    others = [file.name for file in listing.files if file not in files]
    skipped = [str(name) for name in others if not name.name.startswith("results_")]
    if tell is not None:
        reason = "their names are not samples_*.jsonl"
        for problem in (*listing.problems, *listing.unread, *unread(path, skipped, reason)):
            tell(str(problem))
    return files, listing.files


def recognises(path: Path) -> bool:
    """Whether a file is a log of lm-evaluation-harness: its name, and its first sample or its first field."""
    if path.name.startswith("samples_") and format_of(path.name) in TABLES:
        plain = path.suffix in (".jsonl", ".json")
        return not plain or '"doc_id"' in head_of(path, 1 << 12)
    return bool(_RESULTS.fullmatch(path.name)) and first_key(path) == "results"


def read(path: Path, options: ReadOptions) -> Iterator[Part]:
    """Read logged samples, see ``rows_from_lm_eval``; the metric ``METRIC,FILTER`` names a filter too.

    Raises:
        FathomError: See ``rows_from_lm_eval``.
    """
    metric, _, filter_name = options.metric.partition(",")
    chosen = ReadOptions(metric, options.columns, options.constants, options.tell)
    if _RESULTS.fullmatch(path.name) and path.is_file():
        raise FathomError(
            f"{path}: averages only. Run the harness with --log_samples, and give its folder or samples_*.jsonl"
        )
    files, beside = _files(path, options.tell)
    for file in files:
        yield _part(file, beside, chosen, filter_name, "")


def _part(file: File, beside: Sequence[File], options: ReadOptions, filter_name: str, model: str) -> Part:
    named = _SAMPLES.fullmatch(file.stem)
    task, date = (named["task"], named["date"] or "") if named else (file.stem, "")
    results = _results(file, beside, date)
    versions = results.get("versions")
    version = str(versions.get(task, "")) if isinstance(versions, dict) else ""
    filters = dict.fromkeys(str(record.get("filter", "")) for record in _records(file))
    if len(filters) > 1 and not filter_name:
        first = next(iter(filters))
        options.note(
            f"Replies have several filters ({', '.join(filters)}): {first} is used; "
            "`fathom rows --metric METRIC,FILTER` chooses"
        )
    about = _About(task, model or _model(results) or file.folder, filter_name or next(iter(filters), ""), version)
    metric = options.metric or _first_metric(file, about.filter, options)
    return Part(str(file), _rows(file, about, metric), _settings(results, task))


class _About(NamedTuple):
    """What the rows of a file share."""

    task: str
    model: str
    filter: str
    version: str


def _rows(file: File, about: _About, metric: str) -> Iterator[tuple[Row, Record]]:
    scored = False
    for record in _filtered(file, about.filter):
        name = _by_length(record) or metric
        scored = scored or unit(record.get(name)) is not None
        yield _row(record, about, name), record
    if not scored:
        sought = f"metric {metric!r}" if metric else "metric"
        raise FathomError(
            f"{file}: no sample of filter {about.filter!r} has a {sought} in [0, 1]; available are {_available(file)}"
        )


def _row(record: Mapping[str, Any], about: _About, name: str) -> Row:
    doc, length = as_mapping(record.get("doc")), _length(record)
    item = f"{about.task}/{record['doc_id']}"
    facets = {"filter": about.filter, "version": about.version}
    row = Row(
        suite="lm-eval",
        task=about.task,
        item=item,
        sample=f"{item}@{length}" if length else item,
        model=about.model,
        length=length,
        value=None,
        answer=_answer(record.get("filtered_resps")),
        target=str(record.get("target", "")),
        tokens=whole(doc.get("length")) if length else None,
        metric=name,
        prompt_hash=str(record.get("prompt_hash", "")),
        source="lm-eval",
        facets={name: text for name, text in facets.items() if text},
    )
    score = record.get(name)
    given = f": {name} is {score!r}" if score is not None else ""
    detail = "" if unit(score) is not None else f"no metric in [0, 1] in the log{given}"
    return replace(with_score(row, score, _answered(record.get("resps"))), detail=detail)


def _records(file: File) -> Iterator[Mapping[str, Any]]:
    for place, record in checked_records(file):
        if "doc_id" not in record:
            raise FathomError(f"{place}: no doc_id; expected a sample of lm-evaluation-harness")
        yield record


def _filtered(file: File, filter_name: str) -> Iterator[Mapping[str, Any]]:
    return (record for record in _records(file) if str(record.get("filter", "")) == filter_name)


def _first_metric(file: File, filter_name: str, options: ReadOptions) -> str:
    """The first metric that is in [0, 1] or absent in every sample; a partial one would mix two scales."""
    candidates: list[str] | None = None
    present = Counter[str]()
    for record in _filtered(file, filter_name):
        if not _by_length(record):
            scores = {name: record.get(name) for name in _metric_names(record)}
            candidates = usable_metrics(candidates, scores)
            present.update(name for name, score in scores.items() if not is_absent(score))
    candidates = fullest(candidates or (), present)
    if candidates and len(candidates) > 1:
        report_metric(candidates, candidates[0], options)
    return candidates[0] if candidates else ""


def _metric_names(record: Mapping[str, Any]) -> list[str]:
    listed = record.get("metrics")
    names = map(str, listed if isinstance(listed, list) else record)
    return [name for name in names if name not in _NOT_METRICS]


def _length(record: Mapping[str, Any]) -> int:
    return whole(as_mapping(record.get("doc")).get("max_length")) or 0


def _by_length(record: Mapping[str, Any]) -> str:
    """RULER's metric for the length of this sample; "" for other tasks."""
    name = str(_length(record))
    return name if name in record else ""


def _available(file: File) -> str:
    filters = {str(record.get("filter", "")) for record in _records(file)}
    metrics = {name for record in _records(file) for name in _metric_names(record)}
    return f"filters {', '.join(sorted(filters)) or 'none'} and metrics {', '.join(sorted(metrics)) or 'none'}"


def _answered(resps: object) -> bool | None:
    """Whether the first generated reply has text; None if replies are not texts (likelihoods)."""
    while isinstance(resps, list) and resps:
        resps = resps[0]
    return has_text(resps)


def _answer(filtered: object) -> str | None:
    first = filtered[0] if isinstance(filtered, list) and filtered else filtered
    return first if isinstance(first, str) else None


def _results(file: File, files: Sequence[File], date: str) -> Mapping[str, Any]:
    """The results of the same run: with the same date, or the only ones in the folder if the name has no date."""
    name = re.compile(f"results_{re.escape(date) or '.*'}")
    if file.inside:
        beside = [other for other in files if other.name.parent == file.name.parent]
    else:  # only the samples may be readable
        beside = [File.at(path) for path in file.path.parent.glob("results_*.json")]
    matches = [other for other in beside if name.fullmatch(other.stem)]
    return next((fields for _, fields in checked_records(matches[0])), {}) if len(matches) == 1 else {}


def _model(results: Mapping[str, Any]) -> str:
    config = results.get("config")
    name = results.get("model_name") or (config.get("model") if isinstance(config, dict) else "")
    return name if isinstance(name, str) else ""


_MODEL_ARGS = ("revision", "dtype", "peft", "delta", "quantization", "rope_scaling", "max_length", "enable_thinking")


def _settings(results: Mapping[str, Any], task: str) -> dict[str, object]:
    """How the model was asked, as far as it can change replies."""
    config = as_mapping(results.get("config"))
    given = config.get("model_args")
    if isinstance(given, str):
        given = dict(pair.partition("=")[::2] for pair in given.split(","))
    settings = {name: as_mapping(given).get(name) for name in _MODEL_ARGS}
    settings["gen_kwargs"] = config.get("gen_kwargs")
    settings["chat_template"] = bool(results.get("chat_template"))
    settings["system_instruction"] = results.get("system_instruction")
    settings["fewshot"] = as_mapping(results.get("n-shot")).get(task)
    return settings
