"""Converts results of HELMET's released code (princeton-nlp/HELMET) to rows.

``eval.py`` writes ``DATASET_TAG_TEST_inLENGTH_..._SEED.json`` with ``args``, ``data`` (one object per sample, with its
metrics), ``metrics`` and ``averaged_metrics``, and beside it ``....json.score`` with the averages alone. Its
``args.input_max_length`` is the length of prompts in the model's own tokens; with ``--thinking`` the code raises it by
32,768 after it has named the file, which is undone here. Samples whose request failed are left out by the code.

Two scores that its ``collect_results.py`` counts are not among the metrics of samples. Its judges write
``...-gpt4eval_o.json``, a copy of the results with marks in ``gpt-4-scores``, which is read in place of the results
beside it. ``eval_alce.py`` writes averages alone, so the answers of ALCE are scored here by the same rule; citations,
which need a model, are not.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fathom.benchmarks.helmet.scoring import WITH_CITATIONS
from fathom.documents.records import walk
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
    has_text,
    head_of,
    read_json,
    report_metric,
    whole,
    with_score,
)
from fathom.score.registry import ScoringRow, get_scorer
from fathom.score.released import GOLD
from fathom.types import FathomError, Row

FOR_THINKING = 32_768
_IDS = ("id", "qid", "query_id")
_NOT_METRICS = ("input_len", "output_len")
_MARKS, _JUDGED = "gpt-4-scores", "-gpt4eval_o.json"
_COUNTED: Mapping[str, str] = {
    **dict.fromkeys(("json_kv", "nq", "popqa", "triviaqa", "hotpotqa"), "substring_exact_match"),
    "narrativeqa": "gpt-4-score",
    "msmarco_rerank_psg": "NDCG@10",
    **dict.fromkeys(("trec_coarse", "trec_fine", "banking77", "clinic150", "nlu"), "exact_match"),
    "qmsum": "rougeL_recall",
    "multi_lexsum": "gpt-4-f1",
    **dict.fromkeys(("ruler_qa_1", "ruler_qa_2"), "substring_exact_match"),
    "ruler_": "ruler_recall",
    "infbench_qa": "rougeL_f1",
    "infbench_choice": "exact_match",
    "infbench_sum": "gpt-4-f1",
    "alce_asqa": "str_em",
    "alce_qampari": "qampari_rec_top5",
}
"""Metric that the released ``collect_results.py`` counts, by what the name of a data set contains; the first holds."""
_ALCE = {"str_em": "helmet/alce_str_em", "qampari_rec_top5": "helmet/alce_qampari_rec_top5"}
_METRICS = ("ruler_recall", "NDCG@10", "substring_exact_match", "exact_match", "rougeL_recall")
"""Metrics to prefer where the counted one is not there."""
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
    files = [path] if path.is_file() else _latest([file for file in walk(path).files if recognises(file)])
    if not files:
        raise FathomError(f"{path}: no result of HELMET here; expected the .json files that its eval.py writes")
    for file in files:
        yield _part(file, options)


def counted_metric(dataset: str) -> str:
    """The metric of a data set that HELMET's ``collect_results.py`` counts; "" if it counts none.

    Args:
        dataset: Its name in HELMET's code, such as ``icl_trec_fine_6400shot_balance``.
    """
    return next((metric for part, metric in _COUNTED.items() if part in dataset), "")


def _latest(files: Sequence[Path]) -> list[Path]:
    """The files without those whose judged copy is among them."""
    judged = {
        file.with_name(file.name.removesuffix(_JUDGED) + ".json") for file in files if file.name.endswith(_JUDGED)
    }
    return [file for file in files if file not in judged]


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
    counted = counted_metric(as_text(arguments.get("datasets")))
    data = [_with_counted(record, counted) for record in data]
    metric = _metric(file, content, data, counted, options)
    settings = {name: arguments.get(name) for name in _SETTINGS}
    return Part(str(file), list(_rows(file, arguments, data, metric)), settings)


def _metric(file: Path, content: Mapping[str, Any], data: Sequence[Record], counted: str, options: ReadOptions) -> str:
    """The metric of a file: the user's, else the counted one if any sample has it, else the first that can be used."""
    metrics = content.get("metrics")
    names = [name for name in (metrics if isinstance(metrics, dict) else {}) if name not in _NOT_METRICS]
    names = [counted] * any(counted in record for record in data) + [name for name in names if name != counted]
    if names[:1] == [counted] and not options.metric:
        if len(names) > 1:
            report_metric(names, counted, options)
        return counted
    names.sort(key=lambda name: _METRICS.index(name) if name in _METRICS else len(_METRICS))
    return choose_metric(
        str(file), ({name: record[name] for name in names if name in record} for record in data), options
    )


def _with_counted(record: Record, counted: str) -> Record:
    """A sample with the counted metric, where that follows from a judge's marks or from reply and gold answers."""
    if counted in record:
        return record
    if counted in ("gpt-4-score", "gpt-4-f1") and _MARKS in record:
        return {**record, counted: _mark(record[_MARKS], counted)}
    if counted in _ALCE and (gold := _groups(record, counted)) and isinstance(record.get("output"), str):
        asked = ScoringRow(record["output"], [], extra={GOLD: json.dumps(gold), WITH_CITATIONS: True})
        return {**record, counted: get_scorer(_ALCE[counted], "official")(asked).value}
    return record


def _mark(marks: object, counted: str) -> float | None:
    """The mark of a judge in [0, 1]; None if it gave none."""
    given = as_mapping(marks)
    names = ("f1",) if counted == "gpt-4-f1" else ("fluency", "correctness")
    numbers = [float(number) for name in names if isinstance(number := given.get(name), int | float)]
    if len(numbers) < len(names):
        return None
    return numbers[0] if counted == "gpt-4-f1" else numbers[0] * numbers[1] / 3


def _groups(record: Record, counted: str) -> list[list[str]]:
    """The gold answers of a sample of ALCE, a list of alternatives for each; empty if it lacks them."""
    pairs, lists = record.get("qa_pairs"), record.get("answers")
    if counted == "str_em":
        lists = [as_mapping(pair).get("short_answers") for pair in pairs] if isinstance(pairs, list) else None
    groups = lists if isinstance(lists, list) else []
    right = all(isinstance(group, list) and all(isinstance(text, str) for text in group) for group in groups)
    return groups if right else []


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
