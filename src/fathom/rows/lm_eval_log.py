"""Results of lm-evaluation-harness become rows.

With ``--log_samples`` the harness writes, per model, ``results_DATE.json`` and ``samples_TASK_DATE.jsonl``: one object
a line with ``doc_id``, ``doc``, ``target``, ``resps``, ``filtered_resps``, ``filter``, ``metrics`` (names; older
versions lack it) and one field per metric. A document has one line per filter. Format: the harness's own writer
(``lm_eval/loggers/evaluation_tracker.py``, versions 0.4.0 to 0.4.9).

RULER's tasks there name their metrics by length and give -1 to every other length; ``doc.max_length`` is the length.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from fathom.rows.schema import check_rows, to_frame
from fathom.types import Facet, FathomError, Row

_SAMPLES = re.compile(r"samples_(?P<task>.+?)(?:_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+))?\.jsonl")
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


def rows_from_lm_eval(path: Path, metric: str = "", filter_name: str = "", model: str = "") -> pl.DataFrame:
    """Reads the logged samples of lm-evaluation-harness.

    Args:
        path: A ``samples_TASK_DATE.jsonl`` file, or a results folder that holds such files at any depth.
        metric: The metric to take; by default the one named after the document's ``max_length`` (RULER), else the
            first of each file whose values are all numbers in [0, 1].
        filter_name: The filter to take; by default the first of each file.
        model: The model's name; by default that of ``results_DATE.json`` beside the file, else the folder's name.

    Returns:
        A rows table, one row per document. ``length`` is ``doc.max_length``, or 0 where the documents have none: the
        harness does not know lengths. Every reply counts as ``ok``: the harness does not keep stop reasons.

    Raises:
        FathomError: There is no such file, a line is not such a sample, or no sample has the filter or a metric.
    """
    files = [path] if path.is_file() else sorted(path.rglob("samples_*.jsonl"))
    if not files:
        raise FathomError(
            f"{path}: no samples_*.jsonl here; run lm-evaluation-harness with --log_samples and --output_path"
        )
    rows = [row for file in files for row in _rows(file, metric, filter_name, model)]
    return check_rows(to_frame(rows), str(path))


def _rows(file: Path, metric: str, filter_name: str, model: str) -> Iterator[Row]:
    named = _SAMPLES.fullmatch(file.name)
    task, date = (named["task"], named["date"] or "") if named else (file.stem, "")
    results = _results(file, date)
    versions = results.get("versions")
    version = str(versions.get(task, "")) if isinstance(versions, dict) else ""
    model = model or _model(results) or file.absolute().parent.name
    filter_name = filter_name or next((str(record.get("filter", "")) for record in _records(file)), "")
    metric = metric or _first_metric(file, filter_name)
    scored = False
    for record in _filtered(file, filter_name):
        doc: Mapping[str, Any] = record["doc"] if isinstance(record.get("doc"), dict) else {}
        length = _length(record)
        name = _by_length(record) or metric
        value = _unit(record.get(name))
        scored = scored or value is not None
        yield _row(record, doc, (model, task, length), (name, value), filter_name, version)
    if not scored:
        sought = f"metric {metric!r}" if metric else "metric"
        raise FathomError(
            f"{file}: no sample of filter {filter_name!r} has a {sought} in [0, 1]; it holds {_listed(file)}"
        )


def _row(
    record: Mapping[str, Any],
    doc: Mapping[str, Any],
    place: tuple[str, str, int],
    score: tuple[str, float | None],
    filter_name: str,
    version: str,
) -> Row:
    model, task, length = place
    name, value = score
    item = f"{task}/{record['doc_id']}"
    facets: dict[str, Facet] = {"filter": filter_name} if filter_name else {}
    if version:
        facets["version"] = version
    return Row(
        suite="lm-eval",
        task=task,
        item=item,
        sample=f"{item}@{length}" if length else item,
        model=model,
        length=length,
        value=value,
        valid=value is not None,
        answer=_answer(record.get("filtered_resps")),
        target=str(record.get("target", "")),
        tokens=doc["length"] if length and isinstance(doc.get("length"), int) else None,
        metric=name,
        grader=name,
        rule="lm-eval",
        prompt_hash=str(record.get("prompt_hash", "")),
        source="lm-eval",
        detail="" if value is not None else "no metric in [0, 1] in the log",
        answered=_answered(record.get("resps")),
        facets=facets,
    )


def _records(file: Path) -> Iterator[dict[str, Any]]:
    try:
        with file.open(encoding="utf-8") as stream:
            for number, line in enumerate(stream, start=1):
                if not line.strip():
                    continue
                try:
                    record = json.loads(line)
                except ValueError as error:
                    raise FathomError(f"{file}: line {number}: not JSON: {error}") from None
                if not isinstance(record, dict) or "doc_id" not in record:
                    raise FathomError(f"{file}: line {number}: no doc_id; expected a sample of lm-evaluation-harness")
                yield record
    except (OSError, UnicodeDecodeError) as error:
        raise FathomError(f"{file}: cannot be read: {error}") from None


def _filtered(file: Path, filter_name: str) -> Iterator[dict[str, Any]]:
    return (record for record in _records(file) if str(record.get("filter", "")) == filter_name)


def _first_metric(file: Path, filter_name: str) -> str:
    """The first metric that is in [0, 1] in every sample: one that is so in some only would mix two scales."""
    candidates: list[str] | None = None
    for record in _filtered(file, filter_name):
        if not _by_length(record):
            names = _metric_names(record) if candidates is None else candidates
            candidates = [name for name in names if _unit(record.get(name)) is not None]
    return candidates[0] if candidates else ""


def _metric_names(record: Mapping[str, Any]) -> list[str]:
    listed = record.get("metrics")
    return [str(name) for name in (listed if isinstance(listed, list) else record) if name not in _NOT_METRICS]


def _length(record: Mapping[str, Any]) -> int:
    doc = record.get("doc")
    length = doc.get("max_length") if isinstance(doc, dict) else None
    return length if isinstance(length, int) and length > 0 else 0


def _by_length(record: Mapping[str, Any]) -> str:
    """RULER's metric of this sample's own length; "" for other tasks."""
    name = str(_length(record))
    return name if name in record else ""


def _unit(value: object) -> float | None:
    if isinstance(value, bool | int | float) and math.isfinite(value) and 0 <= value <= 1:
        return float(value)
    return None


def _listed(file: Path) -> str:
    filters = {str(record.get("filter", "")) for record in _records(file)}
    metrics = {name for record in _records(file) for name in _metric_names(record)}
    return f"filters {', '.join(sorted(filters)) or 'none'} and metrics {', '.join(sorted(metrics)) or 'none'}"


def _answered(resps: object) -> bool | None:
    """Whether the first generated reply shows any text; None where replies are no texts (likelihoods)."""
    while isinstance(resps, list) and resps:
        resps = resps[0]
    return bool(resps.strip()) if isinstance(resps, str) else None


def _answer(filtered: object) -> str | None:
    first = filtered[0] if isinstance(filtered, list) and filtered else filtered
    return first if isinstance(first, str) else None


def _results(file: Path, date: str) -> dict[str, Any]:
    """The results written in the same run: of the same date; the only one of the folder where the name has no date."""
    found = sorted(file.parent.glob(f"results_{date or '*'}.json"))
    if len(found) != 1:
        return {}
    try:
        results = json.loads(found[0].read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise FathomError(f"{found[0]}: cannot be read: {error}") from None
    return results if isinstance(results, dict) else {}


def _model(results: Mapping[str, Any]) -> str:
    config = results.get("config")
    name = results.get("model_name") or (config.get("model") if isinstance(config, dict) else "")
    return name if isinstance(name, str) else ""
