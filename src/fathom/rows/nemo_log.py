"""Converts results of NeMo Evaluator to rows.

Two of its files have single samples: ``byob_predictions.jsonl`` of own benchmarks (``contrib/byob``: ``sample_id``,
``prompt``, ``response``, ``target``, ``scores``, ``status``, ``error``, ``metadata``), and the files of
``nemo-evaluator-per-sample-outputs/`` (class ``SampleRecord``: ``id``, ``generation``, ``score``, ``score_name``,
``num_prompt_tokens``, ``num_generated_tokens``, ``answer``, ``ground_truth``). ``results.yml`` has the model and its
settings, and else averages only.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field

from fathom.documents.records import File, checked_records, walk
from fathom.rows.parts import (
    Count,
    Fields,
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
    whole,
    with_score,
)
from fathom.storage.foreign import read_regular
from fathom.types import FathomError, Row

RESULTS, PREDICTIONS, OUTPUTS = "results.yml", "byob_predictions.jsonl", "nemo-evaluator-per-sample-outputs"
_SETTINGS = ("temperature", "top_p", "max_new_tokens")
_SCORED = "scored"


def recognises(path: Path) -> bool:
    """Whether a file is a result of NeMo Evaluator, by its name and start."""
    if path.name == PREDICTIONS:
        return first_key(path) == "sample_id"
    if path.parent.name == OUTPUTS:
        return path.suffix == ".jsonl"
    return path.name == RESULTS and _looks_like_results(path)


def _looks_like_results(path: Path) -> bool:
    text = head_of(path, 1 << 16)
    return all(f"\n{name}:" in f"\n{text}" for name in ("config", "results", "target"))


def read(path: Path, options: ReadOptions) -> Iterator[Part]:
    """Read results of NeMo Evaluator: a file with single samples, or a results folder.

    Raises:
        FathomError: There are no single samples, or a file is damaged.
    """
    files = [path] if path.is_file() else [file for file in walk(path).files if recognises(file)]
    samples = [file for file in files if file.name != RESULTS]
    if not samples:
        averages = next((str(file) for file in files), str(path))
        raise FathomError(
            f"{averages}: averages only. fathom reads single samples: {PREDICTIONS} (own benchmarks, with "
            f"--save-predictions), {OUTPUTS}/, or the logs of the harness that NeMo Evaluator ran (lm-eval and others) "
            "in the same folder"
        )
    for file in samples:
        reader = _predictions if file.name == PREDICTIONS else _outputs
        yield reader(file, _about(file, path), options)


def _yaml(path: Path) -> Mapping[str, Any]:
    import yaml

    try:
        return as_mapping(yaml.safe_load(read_regular(path).decode()))
    except (OSError, UnicodeError, yaml.YAMLError, ValueError, RecursionError) as error:
        raise FathomError(f"{path}: cannot be read: {(str(error).splitlines() or ['damaged'])[0]}") from None


class _About(NamedTuple):
    task: str
    model: str
    settings: Mapping[str, object]


def _about(file: Path, root: Path) -> _About:
    """Task, model and settings of the ``results.yml`` beside the file or above it, up to the folder that was given."""
    content: Mapping[str, Any] = {}
    for folder in file.absolute().parents:
        if (folder / RESULTS).is_file():
            content = _yaml(folder / RESULTS)
            break
        if folder == root.absolute():
            break
    config, target = as_mapping(content.get("config")), as_mapping(content.get("target"))
    parameters = as_mapping(config.get("params"))
    task = as_text(parameters.get("task")) or as_text(config.get("type")) or file.parent.name
    model = as_text(as_mapping(target.get("api_endpoint")).get("model_id")) or file.absolute().parent.name
    return _About(task, model, {name: parameters.get(name) for name in _SETTINGS})


class _Prediction(Schema):
    sample_id: object = None
    response: object = None
    target: Text = ""
    scores: Fields = Field(default_factory=dict)
    status: object = None
    error: object = None
    metadata: Fields = Field(default_factory=dict)


def _predictions(file: Path, about: _About, options: ReadOptions) -> Part:
    every = (as_mapping(record.get("scores")) for record in _records(file, "sample_id"))
    scores = ({name: score for name, score in of.items() if not isinstance(score, str)} for of in every)
    metric = choose_metric(str(file), scores, options)
    return Part(str(file), _prediction_rows(file, about, metric), about.settings)


def _prediction_rows(file: Path, about: _About, metric: str) -> Iterator[tuple[Row, Record]]:
    repeats: dict[str, int] = {}
    for record in _records(file, "sample_id"):
        sample = _Prediction.model_validate(record)
        number, repeat = whole(sample.sample_id), whole(sample.metadata.get("_repeat")) or 0
        # The identifier of a repeat is that of the first one plus the number of samples, which is not stored.
        own = sample.metadata.get("id")
        name = as_text(sample.sample_id if own is None else own)
        if own is None and repeat and number is not None:
            first = repeats.setdefault(str(repeat), number)
            name = str(number - first)
        text = sample.response
        item = f"{about.task}/{name}"
        row = Row(
            suite="NeMo Evaluator",
            task=about.task,
            item=item,
            sample=item,
            model=about.model,
            length=0,
            value=None,
            epoch=repeat + 1,
            answer=text if isinstance(text, str) else None,
            target=sample.target,
            metric=metric,
            source="nemo-evaluator",
        )
        made = with_score(row, sample.scores.get(metric), has_text(text))
        failed = sample.status not in (_SCORED, None) or text is None
        if failed:
            made = replace(made, value=None, valid=False, status="error", answered=False)
        yield replace(made, detail=as_text(sample.error or sample.status) if failed else ""), record


class _Output(Schema):
    id: Text = ""
    generation: object = None
    score: object = None
    score_name: Text = ""
    sub_query_id: Count = None
    answer: object = None
    ground_truth: Text = ""
    num_prompt_tokens: Count = None
    num_generated_tokens: Count = None


def _outputs(file: Path, about: _About, options: ReadOptions) -> Part:
    return Part(str(file), _output_rows(file, about, options), about.settings)


def _output_rows(file: Path, about: _About, options: ReadOptions) -> Iterator[tuple[Row, Record]]:
    for record in _records(file, "generation"):
        sample = _Output.model_validate(record)
        metric, item = sample.score_name or "score", f"{about.task}/{sample.id}"
        if options.metric and metric != options.metric:
            continue
        if sample.score is None:
            continue  # an intermediate step, as the class says
        row = Row(
            suite="NeMo Evaluator",
            task=about.task,
            item=item,
            sample=item,
            model=about.model,
            length=0,
            value=None,
            epoch=(sample.sub_query_id or 0) + 1,
            answer=None if sample.answer is None else as_text(sample.answer),
            target=sample.ground_truth,
            tokens_in=sample.num_prompt_tokens,
            tokens_out=sample.num_generated_tokens,
            metric=metric,
            source="nemo-evaluator",
            detail=f"score {sample.score!r} is not a number in [0, 1]",
        )
        yield with_score(row, sample.score, has_text(sample.generation)), record


def _records(file: Path, needed: str) -> Iterator[Record]:
    for place, record in checked_records(File.at(file)):
        if needed not in record:
            raise FathomError(f"{place}: no field {needed!r}; expected a sample of NeMo Evaluator")
        yield record
