"""Converts results of OpenCompass to rows.

A run writes ``DATE/results/MODEL/DATASET.json`` (averages; with ``--dump-eval-details`` also ``details``),
``DATE/predictions/MODEL/DATASET.json`` and ``DATE/configs/DATE.py``. A detail has the correctness of its sample only
with evaluators that give it (``correct``, ``is_correct`` or ``cascade_correct``; a list, one for each repeat). Format:
``tasks/openicl_eval.py`` and ``openicl/icl_evaluator/icl_base_evaluator.py``, version 0.5.

``max_seq_length`` of a data set (RULER, NeedleBench) is read from the configuration, as literals; it is never executed.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fathom.documents.records import walk
from fathom.rows.parts import Part, ReadOptions, Record, as_mapping, as_text, has_text, read_json, whole, with_score
from fathom.storage.foreign import read_regular
from fathom.types import FathomError, Row

_SCORES = ("correct", "is_correct", "cascade_correct")
_LENGTHS = ("max_seq_length", "length", "context_length")
_CLOSE = 0.005
_PREDICTIONS = "predictions"


def recognises(path: Path) -> bool:
    """Whether a file is a result of OpenCompass: ``results/MODEL/DATASET.json`` with its predictions beside."""
    path = path.absolute()
    if path.suffix != ".json" or len(path.parents) < 3 or path.parents[1].name != "results":
        return False
    return (path.parents[2] / _PREDICTIONS / path.parent.name).is_dir() or (path.parents[2] / "summary").is_dir()


def read(path: Path, options: ReadOptions) -> Iterator[Part]:
    """Read single samples of OpenCompass: a results file, or the folder of one run or of several.

    Raises:
        FathomError: There are no results, or none with scores of single samples.
    """
    files = [path] if path.is_file() else [file for file in walk(path).files if recognises(file)]
    if path.is_file() and len(path.absolute().parents) < 3:
        raise FathomError(f"{path}: expected results/MODEL/DATASET.json in the folder of a run of OpenCompass")
    if not files:
        raise FathomError(f"{path}: no results/MODEL/DATASET.json of OpenCompass here")
    without, read = [], 0
    for file in files:
        part = _part(file, options)
        if isinstance(part, str):
            without.append((file, part))
        else:
            read += 1
            yield part
    reasons = "; ".join(f"{file.parent.name}/{file.name}: {reason}" for file, reason in without)
    if not read:
        raise FathomError(f"{path}: no scores of single samples ({reasons})")
    if without:
        options.note(f"{path}: not read: {reasons}")


def _part(file: Path, options: ReadOptions) -> Part | str:
    """The samples of a file, or why it has none with scores."""
    content = read_json(file)
    if not isinstance(content, dict):
        raise FathomError(f"{file}: expected the results of one data set as a JSON object")
    details = _details(content.get("details"))
    if not details:
        averages = {name: value for name, value in content.items() if isinstance(value, int | float)}
        return f"averages only ({as_text(averages)}); run OpenCompass with --dump-eval-details"
    metric = options.metric or next((name for name in _SCORES if any(name in detail for _, detail in details)), "")
    if not metric and _equals_accuracy(content, details):
        options.note(
            "Samples without a score are right if prediction and reference are equal, which gives the accuracy"
        )
        metric = "accuracy"
    elif not metric or not any(metric in detail for _, detail in details):
        fields = ", ".join(dict.fromkeys(name for _, detail in details for name in detail))
        return f"its evaluator gives no score for a sample (fields: {fields}); `metric` names one"
    return Part(str(file), _rows(file, details, metric, _length(file)), {})


def _details(details: object) -> list[tuple[str, Record]]:
    """The details with their names: a list, or an object by number that also has the field ``type``."""
    if isinstance(details, list):
        return [(str(at), detail) for at, detail in enumerate(details) if isinstance(detail, Mapping)]
    return [(name, detail) for name, detail in as_mapping(details).items() if isinstance(detail, Mapping)]


def _equals_accuracy(content: Mapping[str, Any], details: Sequence[tuple[str, Record]]) -> bool:
    """Whether the share of predictions that equal their reference is the accuracy that OpenCompass reports."""
    reported = content.get("accuracy")
    if isinstance(reported, bool) or not isinstance(reported, int | float):
        return False
    if any(not {"predictions", "references"} <= set(detail) for _, detail in details):
        return False
    share = sum(_equal(detail) for _, detail in details) / len(details)
    return abs(100 * share - reported) < _CLOSE


def _equal(detail: Record) -> bool:
    return as_text(detail["predictions"]) == as_text(detail["references"])


def _rows(file: Path, details: Sequence[tuple[str, Record]], metric: str, length: int) -> Iterator[tuple[Row, Record]]:
    task = file.stem
    for at, (name, detail) in enumerate(details):
        item = f"{task}/{as_text(detail.get('example_abbr')).rpartition('_')[2] or name or at}"
        scores = detail.get(metric) if metric in detail else (_equal(detail) if metric == "accuracy" else None)
        for epoch, score in enumerate(scores if isinstance(scores, list) else [scores], start=1):
            row = Row(
                suite="OpenCompass",
                task=task,
                item=item,
                sample=f"{item}@{length}" if length else item,
                model=file.absolute().parent.name,
                length=length,
                value=None,
                epoch=epoch,
                answer=as_text(_repeat(detail.get("pred", detail.get("predictions")), epoch)),
                target=as_text(_repeat(detail.get("answer", detail.get("references")), epoch)),
                metric=metric,
                source="opencompass",
            )
            reply = _repeat(detail.get("origin_prediction", detail.get("pred")), epoch)
            yield with_score(row, score, has_text(reply)), detail


def _repeat(value: object, epoch: int) -> object:
    return value[epoch - 1] if isinstance(value, list) and len(value) >= epoch else value


def _length(file: Path) -> int:
    """The length of the data set by the configuration of the run; 0 if it does not say."""
    for path in sorted((file.absolute().parents[2] / "configs").glob("*.py")):
        for dataset in _datasets(path):
            if dataset.get("abbr") == file.stem:
                lengths = (whole(dataset.get(name)) for name in _LENGTHS)
                return next((length for length in lengths if length), 0)
    return 0


def _datasets(path: Path) -> list[Mapping[str, Any]]:
    """The data sets of a configuration whose values are literals."""
    try:
        tree = ast.parse(read_regular(path).decode())
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return []
    lists = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "datasets" for t in node.targets)
    ]
    return [_literals(call) for value in lists if isinstance(value, ast.List) for call in value.elts]


def _literals(node: ast.expr) -> Mapping[str, Any]:
    """The arguments of ``dict(...)`` that are texts and numbers."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != "dict":
        return {}
    return {word.arg: word.value.value for word in node.keywords if word.arg and isinstance(word.value, ast.Constant)}
