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
from fathom.rows.parts import Part, Record, Wanted, as_mapping, as_text, read_json, unit, whole
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


def read(path: Path, wanted: Wanted) -> Iterator[Part]:
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
        part = _part(file, wanted)
        if isinstance(part, str):
            without.append((file, part))
        else:
            read += 1
            yield part
    reasons = "; ".join(f"{file.parent.name}/{file.name}: {reason}" for file, reason in without)
    if not read:
        raise FathomError(f"{path}: no scores of single samples ({reasons})")
    if without:
        wanted.say(f"{path}: not read: {reasons}")


def _part(file: Path, wanted: Wanted) -> Part | str:
    """The samples of a file, or why it has none with scores."""
    content = read_json(file)
    if not isinstance(content, dict):
        raise FathomError(f"{file}: expected the results of one data set as a JSON object")
    details = _details(content.get("details"))
    if not details:
        averages = {name: value for name, value in content.items() if isinstance(value, int | float)}
        return f"averages only ({as_text(averages)}); run OpenCompass with --dump-eval-details"
    metric = wanted.metric or next((name for name in _SCORES if any(name in one for _, one in details)), "")
    if not metric and _equals_accuracy(content, details):
        wanted.say("Samples without a score are right if prediction and reference are equal, which gives the accuracy")
        metric = "accuracy"
    elif not metric or not any(metric in one for _, one in details):
        fields = ", ".join(dict.fromkeys(name for _, one in details for name in one))
        return f"its evaluator gives no score for a sample (fields: {fields}); `metric` names one"
    return Part(str(file), _rows(file, details, metric, _length(file)), {})


def _details(details: object) -> list[tuple[str, Record]]:
    """The details with their names: a list, or an object by number that also has the field ``type``."""
    if isinstance(details, list):
        return [(str(at), one) for at, one in enumerate(details) if isinstance(one, Mapping)]
    return [(name, one) for name, one in as_mapping(details).items() if isinstance(one, Mapping)]


def _equals_accuracy(content: Mapping[str, Any], details: Sequence[tuple[str, Record]]) -> bool:
    """Whether the share of predictions that equal their reference is the accuracy that OpenCompass reports."""
    reported = content.get("accuracy")
    if isinstance(reported, bool) or not isinstance(reported, int | float):
        return False
    if any(not {"predictions", "references"} <= set(one) for _, one in details):
        return False
    share = sum(_equal(one) for _, one in details) / len(details)
    return abs(100 * share - reported) < _CLOSE


def _equal(detail: Record) -> bool:
    return as_text(detail["predictions"]) == as_text(detail["references"])


def _rows(file: Path, details: Sequence[tuple[str, Record]], metric: str, length: int) -> Iterator[tuple[Row, Record]]:
    task = file.stem
    for at, (name, one) in enumerate(details):
        item = f"{task}/{as_text(one.get('example_abbr')).rpartition('_')[2] or name or at}"
        scores = one.get(metric) if metric in one else (_equal(one) if metric == "accuracy" else None)
        repeats = scores if isinstance(scores, list) else [scores]
        for epoch, score in enumerate(repeats, start=1):
            text = _repeat(one.get("origin_prediction", one.get("pred")), epoch)
            answered = bool(text.strip()) if isinstance(text, str) else None
            value = 0.0 if answered is False else unit(score)
            yield (
                Row(
                    suite="OpenCompass",
                    task=task,
                    item=item,
                    sample=f"{item}@{length}" if length else item,
                    model=file.absolute().parent.name,
                    length=length,
                    value=value,
                    epoch=epoch,
                    valid=value is not None and answered is not False,
                    answer=as_text(_repeat(one.get("pred", one.get("predictions")), epoch)),
                    target=as_text(_repeat(one.get("answer", one.get("references")), epoch)),
                    metric=metric,
                    grader=metric,
                    rule="opencompass",
                    source="opencompass",
                    detail="" if value is not None else f"{metric} is {score!r}, not a number in [0, 1]",
                    answered=answered,
                ),
                one,
            )


def _repeat(value: object, epoch: int) -> object:
    return value[epoch - 1] if isinstance(value, list) and len(value) >= epoch else value


def _length(file: Path) -> int:
    """The length of the data set by the configuration of the run; 0 if it does not say."""
    for path in sorted((file.absolute().parents[2] / "configs").glob("*.py")):
        for dataset in _datasets(path):
            if dataset.get("abbr") == file.stem:
                found = (whole(dataset.get(name)) for name in _LENGTHS)
                return next((length for length in found if length), 0)
    return 0


def _datasets(path: Path) -> list[Mapping[str, Any]]:
    """The data sets of a configuration whose values are literals."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return []
    lists = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "datasets" for t in node.targets)
    ]
    return [_literals(one) for value in lists if isinstance(value, ast.List) for one in value.elts]


def _literals(node: ast.expr) -> Mapping[str, Any]:
    """The arguments of ``dict(...)`` that are texts and numbers."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != "dict":
        return {}
    return {word.arg: word.value.value for word in node.keywords if word.arg and isinstance(word.value, ast.Constant)}
