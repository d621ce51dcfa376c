"""Converts results of HELMET's released code (princeton-nlp/HELMET) to rows.

``eval.py`` writes ``DATASET_TAG_TEST_inLENGTH_..._SEED.json`` with ``args``, ``data`` (one object per sample, with its
metrics), ``metrics`` and ``averaged_metrics``, and beside it ``....json.score`` with the averages alone. Its
``args.input_max_length`` is the length of prompts in the model's own tokens; with ``--thinking`` the code raises it by
32,768 after it has named the file, which is undone here. Samples whose request failed are left out by the code.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fathom.documents.records import walk
from fathom.rows.parts import (
    Count,
    Part,
    ReadOptions,
    Record,
    Schema,
    Text,
    as_text,
    choose_metric,
    first_key,
    has_text,
    head_of,
    read_json,
    whole,
    with_score,
)
from fathom.types import FathomError, Row

FOR_THINKING = 32_768
_IDS = ("id", "qid", "query_id")
_NOT_METRICS = ("input_len", "output_len")
_METRICS = (
    "ruler_recall",
    "NDCG@10",
    "str_em",
    "qampari_rec_top5",
    "substring_exact_match",
    "exact_match",
    "rougeL_recall",
)
_FIRST: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("trec_coarse", "trec_fine", "banking77", "clinic150", "nlu"), ("exact_match",)),
    "infbench_choice": ("exact_match",),
    "infbench_qa": ("rougeL_f1",),
    "qmsum": ("rougeL_recall",),
}
"""Metric that the released ``collect_results.py`` reports for families of data sets with another one than the rest."""
_SETTINGS = (
    "shots",
    "do_sample",
    "temperature",
    "top_p",
    "use_chat_template",
    "system_message",
    "thinking",
    "rope_theta",
)


def recognises(path: Path) -> bool:
    """Whether a file has results of HELMET, by its start."""
    return path.suffix == ".json" and first_key(path) == "args" and '"input_max_length"' in head_of(path, 4096)


def read(path: Path, options: ReadOptions) -> Iterator[Part]:
    """Read results of HELMET: a file, or a folder with such files at any depth.

    Raises:
        FathomError: There is no such file, or one is damaged.
    """
    files = [path] if path.is_file() else [file for file in walk(path).files if recognises(file)]
    if not files:
        raise FathomError(f"{path}: no result of HELMET here; expected the .json files that its eval.py writes")
    for file in files:
        yield _part(file, options)


def _part(file: Path, options: ReadOptions) -> Part:
    if file.name.endswith(".score"):
        raise FathomError(f"{file}: averages only; give {file.name.removesuffix('.score')}, which has the samples")
    content = read_json(file)
    if not isinstance(content, dict) or not isinstance(content.get("args"), dict):
        raise FathomError(f"{file}: not a result of HELMET: no field 'args'")
    data = content.get("data")
    if not isinstance(data, list) or not data or not all(isinstance(record, dict) for record in data):
        raise FathomError(f"{file}: no samples in the field 'data'; fathom reads single samples")
    arguments: Mapping[str, Any] = content["args"]
    names = _metric_names(content, str(arguments.get("datasets")))
    scores = ({name: record[name] for name in names if name in record} for record in data)
    metric = choose_metric(str(file), scores, options)
    settings = {name: arguments.get(name) for name in _SETTINGS}
    return Part(str(file), list(_rows(file, arguments, data, metric)), settings)


def _metric_names(content: Mapping[str, Any], dataset: str) -> list[str]:
    """Its metrics, the one that HELMET reports for the data set first."""
    metrics = content.get("metrics")
    names = [name for name in (metrics if isinstance(metrics, dict) else {}) if name not in _NOT_METRICS]
    family = next((family for family in _FIRST if dataset == family or dataset.startswith(f"{family}_")), "")
    first = (*_FIRST.get(family, ()), *_METRICS)
    return sorted(names, key=lambda name: first.index(name) if name in first else len(first))


class _Sample(Schema):
    output: object = None
    parsed_output: object = None
    answer: Text = ""
    input_len: Count = None
    output_len: Count = None


def _rows(
    file: Path, arguments: Mapping[str, Any], data: Sequence[Record], metric: str
) -> Iterator[tuple[Row, Record]]:
    length = whole(arguments.get("input_max_length"))
    if length is None:
        raise FathomError(f"{file}: args.input_max_length is {arguments.get('input_max_length')!r}, expected tokens")
    length -= FOR_THINKING if arguments.get("thinking") is True and length > FOR_THINKING else 0
    task, model = as_text(arguments.get("datasets")), as_text(arguments.get("model_name_or_path"))
    seen: dict[str, int] = {}
    for record in data:
        sample, name = _Sample.model_validate(record), _identity(record)
        seen[name] = seen.get(name, 0) + 1
        item = f"{task}/{name}" if seen[name] == 1 else f"{task}/{name}/{seen[name]}"
        row = Row(
            suite="HELMET",
            task=task,
            item=item,
            sample=f"{item}@{length}",
            model=model,
            length=length,
            value=None,
            answer=None if sample.parsed_output is None else as_text(sample.parsed_output),
            target=sample.answer,
            tokens_in=sample.input_len,
            tokens_out=sample.output_len,
            metric=metric,
            source="helmet",
        )
        yield with_score(row, record.get(metric), has_text(sample.output)), record


def _identity(sample: Record) -> str:
    """Its id, or a hash of its question and answer: the code's positions differ if a request failed."""
    for name in _IDS:
        if sample.get(name) not in (None, ""):
            return as_text(sample[name])
    asked = "\n".join(as_text(sample.get(name)) for name in ("question", "answer"))
    return hashlib.sha256(asked.encode("utf-8", "replace")).hexdigest()[:12]
