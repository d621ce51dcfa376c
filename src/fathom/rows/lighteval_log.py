"""Converts results of lighteval to rows.

With ``--save-details`` it writes ``results/MODEL/results_DATE.json`` (averages, ``config_general`` with the model) and
``details/MODEL/DATE/details_TASK_DATE.parquet``: for each sample ``doc`` (``query``, ``choices``, ``gold_index``,
``id``, ``task_name``, ``specific``), ``metric`` (a score for each metric) and ``model_response`` (``text``,
``text_post_processed``, ``input_tokens``, ``output_tokens``, ``truncated_tokens_count``). Format: its
``logging/evaluation_tracker.py``, version 0.13.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fathom.documents.records import File, checked_records, walk
from fathom.rows.parts import (
    Count,
    Part,
    ReadOptions,
    Record,
    Schema,
    Text,
    as_mapping,
    as_text,
    choose_metric,
    first_key,
    read_json,
    with_score,
)
from fathom.types import FathomError, Row

_DETAILS = re.compile(r"details_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)\.parquet")
_RESULTS = re.compile(r"results_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)\.json")


def recognises(path: Path) -> bool:
    """Whether a file is a result of lighteval, by its name, and by its start if it has averages only."""
    if _DETAILS.fullmatch(path.name):
        return True
    return bool(_RESULTS.fullmatch(path.name)) and first_key(path) == "config_general"


def read(path: Path, options: ReadOptions) -> Iterator[Part]:
    """Read single samples of lighteval: a details file, or a folder with such files at any depth.

    Raises:
        FathomError: There are no details, or a file is damaged.
    """
    files = [path] if path.is_file() else list(walk(path).files)
    details = [file for file in files if _DETAILS.fullmatch(file.name)]
    if not details:
        averages = next((str(file) for file in files if recognises(file)), str(path))
        raise FathomError(
            f"{averages}: averages only. fathom reads single samples, in details_*.parquet: run lighteval with "
            "--save-details, and give its output folder"
        )
    for file in details:
        yield _part(file, _about(file, files), options)


def _about(file: Path, files: Sequence[Path]) -> Mapping[str, Any]:
    """``config_general`` of the same run: the results with the same date, in the same output folder."""
    match = _DETAILS.fullmatch(file.name)
    name = f"results_{match['date']}.json" if match else ""
    beside = [path for path in files if path.name == name]
    if not beside:  # only the details were given: MODEL/DATE is below details/, and results/ beside it
        above = [folder for folder in file.absolute().parents if (folder / "results").is_dir()][:1]
        beside = [path for folder in above for path in (folder / "results").rglob(name)]
    content = as_mapping(read_json(beside[0])) if beside else {}
    return as_mapping(content.get("config_general"))


def _part(file: Path, about: Mapping[str, Any], options: ReadOptions) -> Part:
    metric = choose_metric(str(file), (as_mapping(record.get("metric")) for record in _records(file)), options)
    model = as_text(about.get("model_name")) or file.absolute().parent.parent.name
    asked = as_mapping(about.get("model_config"))
    settings = {**as_mapping(asked.get("generation_parameters")), "system_prompt": asked.get("system_prompt")}
    return Part(str(file), _rows(file, model, metric), settings)


class _Doc(Schema):
    id: Text = ""
    task_name: Text = ""
    choices: object = None
    gold_index: object = None


class _Response(Schema):
    text: object = None
    text_post_processed: object = None
    input_tokens: object = None
    output_tokens: object = None
    truncated_tokens_count: Count = None


def _rows(file: Path, model: str, metric: str) -> Iterator[tuple[Row, Record]]:
    match = _DETAILS.fullmatch(file.name)
    for number, record in enumerate(_records(file)):
        doc = _Doc.model_validate(as_mapping(record.get("doc")))
        response = _Response.model_validate(as_mapping(record.get("model_response")))
        task = doc.task_name or (match["task"] if match else file.stem)
        item = f"{task}/{doc.id or number}"
        texts = _texts(response)
        row = Row(
            suite="lighteval",
            task=task,
            item=item,
            sample=item,
            model=model,
            length=0,
            value=None,
            answer=texts[0] if texts else None,
            target=_target(doc),
            tokens_in=_count(response.input_tokens),
            tokens_out=_count(_first(response.output_tokens)),
            truncated=response.truncated_tokens_count or 0,
            metric=metric,
            source="lighteval",
        )
        answered = any(text.strip() for text in texts) if texts else None
        yield with_score(row, as_mapping(record.get("metric")).get(metric), answered), record


def _records(file: Path) -> Iterator[Record]:
    for place, record in checked_records(File.at(file)):
        if not {"doc", "metric", "model_response"} <= set(record):
            raise FathomError(f"{place}: no doc, metric and model_response; expected details of lighteval")
        yield record


def _texts(response: _Response) -> list[str]:
    """The replies without reasoning, if lighteval removed it."""
    for texts in (response.text_post_processed, response.text):
        if isinstance(texts, list) and texts:
            return [as_text(text) for text in texts]
    return []


def _target(doc: _Doc) -> str:
    choices, gold = doc.choices, _first(doc.gold_index)
    if not isinstance(choices, list) or not isinstance(gold, int) or not 0 <= gold < len(choices):
        return ""
    return as_text(choices[gold])


def _first(value: object) -> object:
    return (value[0] if value else None) if isinstance(value, list) else value


def _count(tokens: object) -> int | None:
    """The number of tokens; clients of servers leave the list empty."""
    return len(tokens) or None if isinstance(tokens, list) else None
